-- Stores the limits of a topic, unless Redis has lost the topic.
--
-- KEYS  config HASH
-- ARGV  limits ('' for none)
-- Reply {now_us, what was stored before, '' for none}
-- Cost  O(1)
--
-- May be run again with the same arguments.

-- @use now (now_us)
local before = redis.call('HGET', config, 'limits') or ''
if not redis.call('HGET', config, 'partitions') then return { now_us, before } end
if limits == '' then redis.call('HDEL', config, 'limits') else redis.call('HSET', config, 'limits', limits) end
return { now_us, before }
