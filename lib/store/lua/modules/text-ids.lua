-- Stored ids are text in UTF-8. A message that another program has written under an id that is not text gets one that is, since
-- clients could not name it.
-- @exports give_text_id
-- @needs messages, deliveries, errors, keyed
-- @use envelopes (has_envelope)
-- @use text (as_text)

-- Moves everything stored under an id that is not text to one that is, except its place in a set; returns the new id.
local function give_text_id(id)
  local name = as_text(id)
  if name == id then return id end
  while has_envelope(name) do name = name .. '~' end
  for _, key in ipairs({ messages, deliveries, errors }) do
    local stored = redis.call('HGET', key, id)
    if stored then
      redis.call('HSET', key, name, stored)
      redis.call('HDEL', key, id)
    end
  end
  redis.call('ZREM', keyed, id)
  if string.find(name, '\0', 1, true) then redis.call('ZADD', keyed, 0, name) end
  return name
end
