-- Stores the report of a process on itself, for those who look at the fleet.
--
-- KEYS  sessions HASH, processes HASH, holdings HASH
-- ARGV  session, number (of the report), state (JSON that begins with '[number,', or '' if it is as before),
--       held (the same about its partitions)
-- Reply {now_us, 1 noted | 0 there is no such session}
-- Roles consumer
-- Cost  O(1), and what is stored
--
-- Can be run again with the same arguments: a report that is not newer than the stored one changes nothing.

-- @use now (now_us)
-- @use newer (is_newer)

-- Otherwise the report of a process that has ended would stay for good.
if not redis.call('HGET', sessions, session) then return { now_us, 0 } end
local known_state = redis.call('HGET', processes, session)
local known_held = redis.call('HGET', holdings, session)
if state ~= '' and is_newer(number, known_state) then redis.call('HSET', processes, session, state) end
if held ~= '' and is_newer(number, known_held) then redis.call('HSET', holdings, session, held) end
return { now_us, 1 }
