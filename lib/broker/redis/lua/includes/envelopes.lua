-- Needs: messages.
-- Whether there is a message of this stored id. Envelopes may be long, so they are not read; one that is empty was written by
-- another program, and is one all the same.
local function has_envelope(id)
  return redis.call('HSTRLEN', messages, id) > 0 or redis.call('HGET', messages, id) == ''
end
