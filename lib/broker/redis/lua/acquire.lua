-- Makes a session the owner of a partition, if what is stored of its owner is what the caller has seen.
--
-- KEYS  owner STRING
-- ARGV  new_owner, replaces (what the caller has seen), is_first (1 the caller has seen that nothing is stored | 0)
-- Reply {now_us, 1}, or {now_us, 0, what is stored instead; nothing if nothing is}
-- Cost  O(1)
--
-- May be run again with the same arguments: it finds that the new owner is stored. The value has no expiry, and loses one that
-- another program gave it.

-- @use now (now_us)

-- What is not ASCII comes back from a client as other bytes if it was no text. Epochs differ without it.
local function in_ascii(text) return (string.gsub(text, '[\128-\255]+', '?')) end

local stored = redis.call('GET', owner)
local is_as_seen
if is_first == '1' then
  is_as_seen = not stored
else
  is_as_seen = stored and in_ascii(stored) == in_ascii(replaces)
end
if not is_as_seen and stored ~= new_owner then return { now_us, 0, stored or nil } end
redis.call('SET', owner, new_owner)
return { now_us, 1 }
