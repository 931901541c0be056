-- Lets a partition hand out nothing any more, from the next claim on. What is in flight goes on.
--
-- KEYS  1 meta HASH
-- Reply {now_us}
-- Cost  O(1)

-- @include now
redis.call('HSET', KEYS[1], 'paused', '1')
return { now_us }
