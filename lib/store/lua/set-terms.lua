-- Stores the limits of a topic, and how it is handled, unless Redis has lost the topic. "None" is stored as such: it has been said.
--
-- KEYS  config HASH, answered STRING (the caller's latest call)
-- ARGV  sequence, limits ('' for none), handling ('' for the defaults)
-- Reply {now_us}
-- Roles consumer
-- Cost  O(1)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which brings back nothing that others have replaced since.

-- @use now (now_us)
-- @use answered (earlier_answer, remember)

if not earlier_answer() then
  if redis.call('HGET', config, 'partitions') then
    redis.call('HSET', config, 'limits', limits, 'handling', handling)
  end
  remember('')
end
return { now_us }
