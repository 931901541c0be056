-- Stores the limits of a topic, and how it is handled, unless Redis has lost the topic.
--
-- KEYS  config HASH
-- ARGV  limits ('' for none), handling ('' for the defaults)
-- Reply {now_us}
-- Cost  O(1)
--
-- May be run again with the same arguments.

-- @use now (now_us)
local function put(field, text)
  if text == '' then redis.call('HDEL', config, field) else redis.call('HSET', config, field, text) end
end

if redis.call('HGET', config, 'partitions') then
  put('limits', limits)
  put('handling', handling)
end
return { now_us }
