-- Pauses a partition: from the next claim on nothing is handed out. What is in flight goes on.
--
-- KEYS  meta HASH
-- Reply {now_us}
-- Cost  O(1)

-- @use now (now_us)
redis.call('HSET', meta, 'paused', '1')
return { now_us }
