-- Removes sessions, their reports, and the lists of topics that none of the others names.
--
-- KEYS  sessions HASH, handled HASH, processes HASH, holdings HASH, answered STRING (the caller's latest call)
-- ARGV  sequence, ... (the sessions, at most 1,000)
-- Reply {now_us}
-- Roles consumer
-- Cost  O(sessions + lists), removes at most 1,000 lists
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which removes no session that has come back since.

-- @use now (now_us)
-- @use answered (earlier_answer, remember)

local MOST_LISTS = 1000

if earlier_answer() then return { now_us } end

redis.call('HLEN', handled)
redis.call('HLEN', processes)
redis.call('HLEN', holdings)
if #ARGV >= FIRST then
  redis.call('HDEL', sessions, unpack(ARGV, FIRST))
  redis.call('HDEL', processes, unpack(ARGV, FIRST))
  redis.call('HDEL', holdings, unpack(ARGV, FIRST))
end
local is_named = {}
for _, record in ipairs(redis.call('HVALS', sessions)) do
  -- Ignores what follows the digest: a later version may have put it there.
  is_named[string.match(record, '^%S+ %S+ %S+ (%S+)') or ''] = true
end
local unnamed = {}
for _, digest in ipairs(redis.call('HKEYS', handled)) do
  if not is_named[digest] and #unnamed < MOST_LISTS then unnamed[#unnamed + 1] = digest end
end
if #unnamed > 0 then redis.call('HDEL', handled, unpack(unnamed)) end
remember('')
return { now_us }
