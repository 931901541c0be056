-- Fixes a topic's number of partitions at its first use.
--
-- KEYS  config HASH
-- ARGV  partitions, protocol (version)
-- Reply {now_us, partitions, protocol version}: what is stored
-- Cost  O(1)

-- @include now
redis.call('HSETNX', config, 'partitions', partitions)
redis.call('HSETNX', config, 'protocol', protocol)
local stored = redis.call('HMGET', config, 'partitions', 'protocol')
return { now_us, tonumber(stored[1]), tonumber(stored[2]) }
