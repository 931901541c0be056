-- Removes a field of a record of the fleet.
--
-- KEYS  record HASH, answered STRING (the caller's latest call)
-- ARGV  sequence, field
-- Reply {now_us}
-- Roles consumer, operator
-- Cost  O(1)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which removes nothing that was set since.

-- @use now (now_us)
-- @use answered (earlier_answer, remember)

if not earlier_answer() then
  redis.call('HDEL', record, field)
  remember('')
end
return { now_us }
