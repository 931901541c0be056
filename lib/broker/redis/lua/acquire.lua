-- Makes a member the owner of a partition, unless another member is.
--
-- KEYS  owner STRING, meta HASH
-- ARGV  member, session (ms)
-- Reply {now_us, 1, the partition's highest token}, or {now_us, 0, when the owner's session ends, epoch ms}
-- Cost  O(1)

-- @include now
-- @include token

local holder = redis.call('GET', owner)
local remaining = redis.call('PTTL', owner)
-- An owner without an end to its session was not written by this script, and would never give the partition up.
if holder and holder ~= member and remaining >= 0 then return { now_us, 0, now + remaining } end
local highest = highest_token(redis.call('HGET', meta, 'delivered'))
redis.call('SET', owner, member, 'PX', session)
return { now_us, 1, highest }
