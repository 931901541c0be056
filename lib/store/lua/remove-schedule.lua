-- Removes a schedule. Its published messages stay.
--
-- KEYS  schedules HASH, occurrences ZSET, answered STRING (the caller's latest call)
-- ARGV  sequence, id
-- Reply {now_us, 1 removed | 0 not found}
-- Roles consumer, operator
-- Cost  O(log size)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer.

-- @use now (now_us)
-- @use answered (earlier_answer, remember)

local answer = earlier_answer()
if answer then return { now_us, tonumber(answer) } end

redis.call('ZCARD', occurrences)
local removed = redis.call('HDEL', schedules, id)
redis.call('ZREM', occurrences, id)
remember(removed)
return { now_us, removed }
