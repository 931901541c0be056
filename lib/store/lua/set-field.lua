-- Sets a field of a record of the fleet, even while Redis is full.
--
-- KEYS  record HASH
-- ARGV  field, value
-- Reply {now_us, 1 the field is new | 0 it was there}
-- Roles producer, consumer, operator
-- Cost  O(1)

-- @use now (now_us)
return { now_us, redis.call('HSET', record, field, value) }
