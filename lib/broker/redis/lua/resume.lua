-- Lets a partition hand out messages again, and wakes its owner.
--
-- KEYS  1 meta HASH
-- ARGV  1 wake command   2 wake channel
-- Reply {now_us}
-- Cost  O(1)
--
-- The signal is sent even where nothing was paused, since the one of a first run may have got lost with its reply.

-- @include now
local meta = KEYS[1]
local wake_command, wake_channel = ARGV[1], ARGV[2]

redis.call('HDEL', meta, 'paused')
redis.call(wake_command, wake_channel, string.format('due %d', now))
return { now_us }
