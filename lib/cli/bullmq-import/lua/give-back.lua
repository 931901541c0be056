-- Gives jobs back that were taken and have no message: BullMQ's workers run them as before.
--
-- KEYS  taken ZSET, refused SET, delayed ZSET, prioritized ZSET, wait ANY (the list of those that wait), settings HASH, lock STRING
-- ARGV  token, base (what every key of the queue begins with), job_base (what the keys of taken jobs begin with), ... (ids of
--       jobs, at most 200)
-- Reply  how many were given back
-- Cost  O(n log size)
--
-- May be run again: what was given back is not taken any more, in this run not even from the list that it is in again. If a job was added under the id meanwhile, that one stays, as BullMQ
-- keeps the one that it has.

-- @include fence
local count = 0

local function put(id, score)
  if score > 0 then
    redis.call('ZADD', delayed, string.format('%.0f', score), id)
  elseif score < 0 then
    redis.call('ZADD', prioritized, string.format('%.0f', -score), id)
  else
    -- Behind all others, as BullMQ adds a job: before them it would move those that the import has met to places that it has yet to read.
    redis.call('LPUSH', wait, id)
  end
end

for i = FIRST, #ARGV do
  local id = ARGV[i]
  local score = redis.call('ZSCORE', taken, id)
  if score then
    local is_there = redis.call('EXISTS', job_base .. id) == 1
    if is_there and redis.call('RENAMENX', job_base .. id, base .. id) == 1 then
      put(id, tonumber(score))
    else
      redis.call('UNLINK', job_base .. id)
    end
    redis.call('ZREM', taken, id)
    redis.call('SADD', refused, id)
    count = count + 1
  end
end
if count > 0 then redis.call('HINCRBY', settings, 'returned', count) end
return count
