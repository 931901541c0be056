-- Writes a schedule, if its stored state is the one that the caller has seen; signals if it becomes the partition's next one.
--
-- KEYS  schedules HASH, occurrences ZSET, answered STRING (the caller's latest call)
-- ARGV  wake_command, channel, sequence, id, is_new (1: nothing may be stored; 0: `expected`), expected, state, rest ('' if it stays),
--       next_at (of its next occurrence, epoch ms; inf: there is none)
-- Reply {now_us, 1 written | 0 something else is stored}
-- Roles consumer, operator
-- Cost  O(log size)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer, and brings
-- back none that was removed since.

-- @use now (now_us, now)
-- @use answered (earlier_answer, remember)
-- @use schedule (schedule_parts, is_score)

if not is_score(next_at) then return redis.error_reply('REFUSED the next occurrence is no time: ' .. next_at) end

local answer = earlier_answer()
if answer then return { now_us, tonumber(answer) } end
local stored = redis.call('HGET', schedules, id)
-- A due schedule is published at once, unless its owner cannot read it; then it must not hide those that come.
local head = redis.call('ZRANGEBYSCORE', occurrences, '(' .. now, 'inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
local stored_state, stored_rest = schedule_parts(stored)
local is_as_seen
if is_new == '1' then is_as_seen = not stored else is_as_seen = stored_state == expected end
local result = is_as_seen and 1 or 0
if is_as_seen then
  redis.call('HSET', schedules, id, state .. '\n' .. (rest ~= '' and rest or stored_rest))
  redis.call('ZADD', occurrences, next_at, id)
  if next_at ~= 'inf' and (not head or tonumber(next_at) < tonumber(head)) then
    redis.call(wake_command, channel, 'schedules ' .. next_at)
  end
end
remember(result)
return { now_us, result }
