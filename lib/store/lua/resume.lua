-- Ends a pause and a hold, and signals the owner.
--
-- KEYS  meta HASH, answered STRING (the caller's latest call)
-- ARGV  wake_command, channel, sequence
-- Reply {now_us}
-- Roles operator
-- Cost  O(1)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which does not resume a partition that was paused since. It signals all the
-- same, as does a call that finds nothing paused, since the signal of a first run may have been lost with its reply.

-- @use now (now_us, now)
-- @use answered (earlier_answer, remember)

if not earlier_answer() then
  redis.call('HDEL', meta, 'paused', 'held')
  remember('')
end
redis.call(wake_command, channel, string.format('due %d', now))
return { now_us }
