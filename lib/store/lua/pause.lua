-- Pauses a partition: from the next claim on nothing is handed out. What is in flight goes on.
--
-- KEYS  meta HASH, answered STRING (the caller's latest call)
-- ARGV  sequence
-- Reply {now_us}
-- Roles operator
-- Cost  O(1)
--
-- May be run again with the same arguments: the sequence tells a repeat, which does not pause what was resumed since.

-- @use now (now_us)
-- @use answered (earlier_answer, remember)

if not earlier_answer() then
  redis.call('HSET', meta, 'paused', '1')
  remember('')
end
return { now_us }
