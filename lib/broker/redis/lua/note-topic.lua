-- Notes that a topic is in use. Its name is in a slot of its own, so `configure` cannot do it.
--
-- KEYS  1 topics ZSET, all scores 0
-- ARGV  1 topic
-- Reply {now_us}
-- Cost  O(log topics)

-- @include now
redis.call('ZADD', KEYS[1], 0, ARGV[1])
return { now_us }
