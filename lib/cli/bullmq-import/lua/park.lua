-- Notes that the messages of taken jobs are there and not due yet. Without jobs, it only keeps the lock.
--
-- KEYS  taken ZSET, parked ZSET, lock STRING
-- ARGV  token, ... (ids of jobs, at most 200)
-- Reply  how many there were
-- Cost  O(n log size)
--
-- May be run again: what is noted stays noted.

-- @include fence
local count = 0
for i = FIRST, #ARGV do
  local score = redis.call('ZSCORE', taken, ARGV[i])
  if score then
    redis.call('ZADD', parked, score, ARGV[i])
    redis.call('ZREM', taken, ARGV[i])
    count = count + 1
  end
end
return count
