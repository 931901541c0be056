-- Removes sessions, what they have said of themselves, and the lists of topics that none of the others names.
--
-- KEYS  sessions HASH, handled HASH, processes HASH, holdings HASH
-- ARGV  ... (the sessions, at most 1,000)
-- Reply {now_us}
-- Cost  O(sessions + lists), removes at most 1,000 lists

-- @use now (now_us)

local MOST_LISTS = 1000

redis.call('HLEN', handled)
redis.call('HLEN', processes)
redis.call('HLEN', holdings)
if #ARGV > 0 then
  redis.call('HDEL', sessions, unpack(ARGV, FIRST))
  redis.call('HDEL', processes, unpack(ARGV, FIRST))
  redis.call('HDEL', holdings, unpack(ARGV, FIRST))
end
local is_named = {}
for _, record in ipairs(redis.call('HVALS', sessions)) do
  -- Whatever follows the digest: a later version may have put it there.
  is_named[string.match(record, '^%S+ %S+ %S+ (%S+)') or ''] = true
end
local unnamed = {}
for _, digest in ipairs(redis.call('HKEYS', handled)) do
  if not is_named[digest] and #unnamed < MOST_LISTS then unnamed[#unnamed + 1] = digest end
end
if #unnamed > 0 then redis.call('HDEL', handled, unpack(unnamed)) end
return { now_us }
