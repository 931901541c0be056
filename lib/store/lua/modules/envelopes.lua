-- Whether there is a message of this stored id. Envelopes may be long, so they are not read; an empty one, which another
-- program has written, counts too.
-- @exports has_envelope
-- @needs messages

local function has_envelope(id)
  return redis.call('HSTRLEN', messages, id) > 0 or redis.call('HGET', messages, id) == ''
end
