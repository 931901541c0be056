-- Leaves a topic's group.
--
-- KEYS  1 members ZSET     2 holdings HASH
-- ARGV  1 wake command     2 members channel   3 member
-- Reply {now_us}
-- Cost  O(log members)

-- @include now
local members, holdings = KEYS[1], KEYS[2]
local wake_command, members_channel, member = ARGV[1], ARGV[2], ARGV[3]

redis.call('HDEL', holdings, member)
if redis.call('ZREM', members, member) == 1 then redis.call(wake_command, members_channel, member) end
return { now_us }
