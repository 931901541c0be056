-- Whether a message that waits is as somebody has seen it, so that what has come under its name meanwhile is left alone.
-- @exports is_as_seen
-- @needs messages, seen_at, seen_envelope
-- @use times (to_time)

-- `score`: when it is due.
local function is_as_seen(id, score)
  return seen_at == '' or to_time(score) == tonumber(seen_at) and redis.call('HGET', messages, id) == seen_envelope
end
