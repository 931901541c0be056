-- Renames a key that holds another type than ours. The former value is lost; the current one is not ours, and nothing
-- could go on beside it.
--
-- KEYS  key ANY, aside ANY (its name once it is set aside)
-- ARGV  expected_type (ZSET, HASH or STRING)
-- Reply {now_us, 1 set aside | 0 it is of that type, or does not exist}
-- Roles producer, consumer, operator
-- Cost  O(1)
--
-- Can be run again with the same arguments: it finds nothing then.

-- @use now (now_us)
local READ = { ZSET = 'ZCARD', HASH = 'HLEN', STRING = 'GET' }

local result = redis.pcall(READ[expected_type], key)
if type(result) == 'table' and result.err and string.find(result.err, 'WRONGTYPE', 1, true) then
  redis.call('RENAME', key, aside)
  return { now_us, 1 }
end
return { now_us, 0 }
