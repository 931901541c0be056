-- Gives a partition up if the member owns it.
--
-- KEYS  owner STRING
-- ARGV  member
-- Reply {now_us}
-- Cost  O(1)

-- @include now
if redis.call('GET', owner) == member then redis.call('DEL', owner) end
return { now_us }
