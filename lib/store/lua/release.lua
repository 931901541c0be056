-- Gives a partition up, if exactly this owner is stored. The epoch stays, so that the next owner replaces something that was
-- never stored before.
--
-- KEYS  owner STRING
-- ARGV  given_up (the owner), epoch
-- Reply {now_us}
-- Roles consumer
-- Cost  O(1)

-- @use now (now_us)
if redis.call('GET', owner) == given_up then redis.call('SET', owner, epoch) end
return { now_us }
