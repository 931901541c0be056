-- Removes everything stored of the given messages, except their place in a set; at most 200 at a time. If it fails, nothing is
-- removed, provided that `deliveries` is a hash. Use this before anything is written. With `keeps_names` they can still be found by id alone. `own` are those with records of
-- their own, if not all can have one.
-- @exports has_errors, forget
-- @needs messages, deliveries, errors, keyed
-- @use tags (has_tags, untag)

-- Whether there are failures of earlier deliveries; those that this script adds are of messages that stay.
local has_errors = redis.call('HLEN', errors) > 0

local function forget(ids, keeps_names, own)
  if #ids == 0 then return end
  -- Searches all ids at once for those with a key of their own: mostly there are none, or the first one has one.
  if not keeps_names and (string.find(ids[1], '\0', 1, true) or string.find(table.concat(ids), '\0', 1, true)) then
    local with_key = {}
    for i = 1, #ids do
      if string.find(ids[i], '\0', 1, true) then with_key[#with_key + 1] = ids[i] end
    end
    redis.call('HLEN', messages)
    redis.call('ZREM', keyed, unpack(with_key))
  end
  redis.call('HDEL', messages, unpack(ids))
  own = own or ids
  if #own > 0 then redis.call('HDEL', deliveries, unpack(own)) end
  if has_errors then redis.call('HDEL', errors, unpack(ids)) end
  if has_tags then untag(ids) end
end
