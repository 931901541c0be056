-- Marks a session as left, unless it was renewed since its known heartbeat.
--
-- KEYS  sessions HASH
-- ARGV  session, count (of its heartbeats, as far as it is known), left_record
-- Reply {now_us}
-- Roles consumer
-- Cost  O(1)

-- @use now (now_us)
local stored = redis.call('HGET', sessions, session)
local renewed = tonumber(string.match(stored or '', '^(%d+) '))
if not renewed or renewed <= tonumber(count) then redis.call('HSET', sessions, session, left_record) end
return { now_us }
