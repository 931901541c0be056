-- Removes a field of a record of the fleet, if it has this value.
--
-- KEYS  record HASH
-- ARGV  field, value
-- Reply {now_us, 1 removed | 0 it is not there, or has another value}
-- Cost  O(1)
--
-- May be run again: what was written there meanwhile stays, unless it is the same.

-- @include now
if redis.call('HGET', record, field) ~= value then return { now_us, 0 } end
return { now_us, redis.call('HDEL', record, field) }
