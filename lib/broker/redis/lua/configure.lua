-- Fixes a topic's number of partitions at its first use.
--
-- KEYS  1 config HASH
-- ARGV  1 partitions   2 protocol version
-- Reply {now_us, partitions, protocol version}: what is stored
-- Cost  O(1)

-- @include now
local config = KEYS[1]
redis.call('HSETNX', config, 'partitions', ARGV[1])
redis.call('HSETNX', config, 'protocol', ARGV[2])
local stored = redis.call('HMGET', config, 'partitions', 'protocol')
return { now_us, tonumber(stored[1]), tonumber(stored[2]) }
