-- Pauses a partition: from the next claim on nothing is handed out. Deliveries in flight go on.
--
-- KEYS  meta HASH, answered STRING (the caller's latest call)
-- ARGV  sequence
-- Reply {now_us}
-- Roles operator
-- Cost  O(1)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which does not pause a partition that was resumed since.

-- @use now (now_us)
-- @use answered (earlier_answer, remember)

if not earlier_answer() then
  redis.call('HSET', meta, 'paused', '1')
  remember('')
end
return { now_us }
