-- Checks that a waiting message is as the caller has seen it, so that another one that has its name by now is left alone.
-- @exports is_as_seen
-- @needs messages, seen_at, seen_envelope
-- @use times (to_time)

-- `score`: its due time.
local function is_as_seen(id, score)
  return seen_at == '' or to_time(score) == tonumber(seen_at) and redis.call('HGET', messages, id) == seen_envelope
end
