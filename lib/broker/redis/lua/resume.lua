-- Ends a pause and a hold, and signals the owner.
--
-- KEYS  meta HASH
-- ARGV  wake_command, channel
-- Reply {now_us}
-- Cost  O(1)
--
-- The signal is sent even if nothing was paused, since the one of a first run may have got lost with its reply.

-- @use now (now_us, now)

redis.call('HDEL', meta, 'paused', 'held')
redis.call(wake_command, channel, string.format('due %d', now))
return { now_us }
