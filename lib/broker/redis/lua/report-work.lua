-- Notes what a process did in a minute, for those who look at the fleet.
--
-- KEYS  work HASH (of the minute)
-- ARGV  session, number (of the report), keep (for how long from now, ms),
--       ... (2 a topic: topic, JSON that begins with '[number,'; at most 200)
-- Reply {now_us}
-- Cost  O(topics)
--
-- May be run again with the same arguments: a report that is not newer than what is stored changes nothing.

-- @include now
-- @include newer

local fields = {}
for i = FIRST, #ARGV, 2 do fields[#fields + 1] = session .. ' ' .. ARGV[i] end
local known = redis.call('HMGET', work, unpack(fields))
for i = 1, #fields do
  if is_newer(number, known[i]) then redis.call('HSET', work, fields[i], ARGV[FIRST + 2 * i - 1]) end
end
redis.call('PEXPIRE', work, keep)
return { now_us }
