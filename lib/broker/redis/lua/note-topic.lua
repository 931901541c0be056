-- Notes that a topic is in use. Its name is in a slot of its own, so `configure` cannot do it.
--
-- KEYS  topics ZSET (all scores 0)
-- ARGV  topic
-- Reply {now_us}
-- Cost  O(log topics)

-- @include now
redis.call('ZADD', topics, 0, topic)
return { now_us }
