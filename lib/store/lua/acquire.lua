-- Makes a session the owner of a partition, if its stored owner is the one that the caller has seen.
--
-- KEYS  owner STRING
-- ARGV  new_owner, replaces (the owner that the caller has seen), is_first (1 the caller has seen that nothing is stored | 0)
-- Reply {now_us, 1}, or {now_us, 0, what is stored instead; nothing if nothing is}
-- Roles consumer
-- Cost  O(1)
--
-- Can be run again with the same arguments: it finds that the new owner is stored. The value has no expiry, and loses one that
-- another program gave it.

-- @use now (now_us)
-- @use as-stored (is_stored_as)

local stored = redis.call('GET', owner)
if not is_stored_as(stored, replaces, is_first) and stored ~= new_owner then return { now_us, 0, stored or nil } end
redis.call('SET', owner, new_owner)
return { now_us, 1 }
