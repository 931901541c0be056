-- Ends a run: the next one may begin. If no job is between the two queues any more, nothing of the import stays.
--
-- KEYS  taken ZSET, parked ZSET, refused SET, settings HASH, lock STRING
-- ARGV  token
-- Reply  how many jobs are still between the two queues
-- Cost  O(1)

-- @include fence
local open = redis.call('ZCARD', taken) + redis.call('ZCARD', parked)
if open == 0 then redis.call('DEL', settings) end
redis.call('DEL', refused, lock)
return open
