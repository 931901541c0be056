-- Sets a field of a record of the fleet, if it holds the value that the caller has seen; even while Redis is full.
--
-- KEYS  record HASH, answered STRING (the caller's latest call)
-- ARGV  sequence, field, value, replaces (the value that the caller has seen), is_first (1 the caller has seen that the field is not there | 0)
-- Reply {now_us, 1}, or {now_us, 0, the value that it holds instead; nothing if it is not there}
-- Roles producer, consumer, operator
-- Cost  O(1)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which replaces nothing, even if the field is again as the caller has
-- seen it.

-- @use now (now_us)
-- @use answered (earlier_answer, remember)
-- @use as-stored (is_stored_as)

local REPLACED, KEPT = '1', '0'

local answer = earlier_answer()
local stored = redis.call('HGET', record, field)
if not answer then
  answer = KEPT
  if is_stored_as(stored, replaces, is_first) or stored == value then
    redis.call('HSET', record, field, value)
    answer = REPLACED
  end
  remember(answer)
end
if answer == REPLACED then return { now_us, 1 } end
return { now_us, 0, stored or nil }
