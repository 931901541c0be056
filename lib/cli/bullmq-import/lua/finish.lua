-- Forgets jobs that were taken: their messages are there, or need not be.
--
-- KEYS  taken ZSET, parked ZSET, settings HASH, lock STRING
-- ARGV  token, base (what every key of the queue begins with), job_base (what the keys of taken jobs begin with), outcome (the
--       field of the settings that counts them), ... (ids of jobs, at most 200)
-- Reply  how many there were
-- Cost  O(n log size + logs of the jobs)
--
-- May be run again: what is forgotten is not counted twice.

-- @include fence
local count = 0

local function forget(id)
  local deduplication = redis.call('HGET', job_base .. id, 'deid')
  redis.call('UNLINK', job_base .. id)
  -- A job that was added under this id meanwhile has these for itself.
  if redis.call('EXISTS', base .. id) == 1 then return end
  redis.call('UNLINK', base .. id .. ':logs')
  if not deduplication then return end
  local claim = base .. 'de:' .. deduplication
  if redis.call('GET', claim) == id then redis.call('DEL', claim) end
end

for i = FIRST, #ARGV do
  local id = ARGV[i]
  if redis.call('ZREM', taken, id) + redis.call('ZREM', parked, id) > 0 then
    forget(id)
    count = count + 1
  end
end
if count > 0 then redis.call('HINCRBY', settings, outcome, count) end
return count
