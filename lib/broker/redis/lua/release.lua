-- Gives a partition up, where the member owns it.
--
-- KEYS  1 owner STRING
-- ARGV  1 member
-- Reply {now_us}
-- Cost  O(1)

-- @include now
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return { now_us }
