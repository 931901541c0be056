-- Sets a field of a record of the fleet, if what it holds is what the caller has seen; also while Redis is full.
--
-- KEYS  record HASH
-- ARGV  field, value, replaces (what the caller has seen), is_first (1 the caller has seen that the field is not there | 0)
-- Reply {now_us, 1}, or {now_us, 0, what it holds instead; nothing if it is not there}
-- Cost  O(1)
--
-- May be run again with the same arguments: it finds the value.

-- @use now (now_us)
-- @use as-stored (is_stored_as)

local stored = redis.call('HGET', record, field)
if not is_stored_as(stored, replaces, is_first) and stored ~= value then return { now_us, 0, stored or nil } end
redis.call('HSET', record, field, value)
return { now_us, 1 }
