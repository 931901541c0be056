-- Stores the limits of a topic, and how it is handled, unless Redis has lost the topic. Nothing is stored as such: it has been said.
--
-- KEYS  config HASH
-- ARGV  limits ('' for none), handling ('' for the defaults)
-- Reply {now_us}
-- Cost  O(1)
--
-- May be run again with the same arguments.

-- @use now (now_us)
if redis.call('HGET', config, 'partitions') then
  redis.call('HSET', config, 'limits', limits, 'handling', handling)
end
return { now_us }
