-- Renames keys that hold another type than ours. What stood there before is lost; what stands there now is none of ours,
-- and nothing could go on beside it.
--
-- KEYS  a key and its name set aside, by turns
-- ARGV  a letter a key: z ZSET, h HASH, s STRING
-- Reply {now_us, then the names of what was set aside}
-- Cost  O(1)
--
-- May be run again with the same arguments: it finds nothing then.

-- @include now
local READ = { z = 'ZCARD', h = 'HLEN', s = 'GET' }

local reply = { now_us }
for n = 1, #ARGV do
  local key, aside = KEYS[2 * n - 1], KEYS[2 * n]
  local result = redis.pcall(READ[ARGV[n]], key)
  if type(result) == 'table' and result.err and string.find(result.err, 'WRONGTYPE', 1, true) then
    redis.call('RENAME', key, aside)
    reply[#reply + 1] = aside
  end
end
return reply
