-- Leaves a topic's group.
--
-- KEYS  members ZSET, holdings HASH
-- ARGV  wake_command, channel (of the members), member
-- Reply {now_us}
-- Cost  O(log members)

-- @include now

redis.call('HDEL', holdings, member)
if redis.call('ZREM', members, member) == 1 then redis.call(wake_command, channel, member) end
return { now_us }
