-- Takes jobs out of what BullMQ keeps them in, so that no worker runs them any more, or only looks at them.
--
-- KEYS  waiting ANY (a ZSET, or a LIST with the next one at its end), taken ZSET, refused SET, settings HASH, lock STRING
-- ARGV  token ('' for a look that changes nothing), list (delayed, prioritized, or wait for a LIST), base (what every key of the
--       queue begins with), job_base (what the keys of taken jobs begin with), from (the score to begin at; of a ZSET),
--       offset (how many from there are left out), count, largest (bytes of data that a message can have)
-- Reply  {id, score, verdict, ... for each job that was met}; its verdict is taken (in a look: would be), flow, repeated, large,
--        refused: this run has given it back, or unknown: there is no such job
-- Cost  O(count log size + offset), count <= 200
--
-- May be run again: what was taken is not met any more, and waits in `taken`. There the score tells where a job comes from: above 0
-- delayed, 0 waiting, below 0 prioritized.

local is_look = token == ''
if not is_look then
-- @include fence
end

local function page()
  if list ~= 'wait' then
    return redis.call('ZRANGEBYSCORE', waiting, from, '+inf', 'WITHSCORES', 'LIMIT', offset, count)
  end
  local rows = {}
  local ids = redis.call('LRANGE', waiting, -offset - count, -offset - 1)
  for i = #ids, 1, -1 do
    rows[#rows + 1] = ids[i]
    rows[#rows + 1] = '0'
  end
  return rows
end

local function verdict_of(id)
  if not is_look and redis.call('SISMEMBER', refused, id) == 1 then return 'refused' end
  local job = base .. id
  local fields = redis.call('HMGET', job, 'name', 'parentKey', 'rjk')
  if not fields[1] then return 'unknown' end
  if fields[3] or string.sub(id, 1, 7) == 'repeat:' then return 'repeated' end
  local of_flow = redis.call('EXISTS', job .. ':dependencies', job .. ':processed', job .. ':failed', job .. ':unsuccessful')
  if fields[2] or of_flow > 0 then return 'flow' end
  if redis.call('HSTRLEN', job, 'data') > tonumber(largest) then return 'large' end
  return 'taken'
end

local function take(id, score)
  if list == 'wait' then
    redis.call('LREM', waiting, -1, id)
  else
    redis.call('ZREM', waiting, id)
  end
  redis.call('RENAME', base .. id, job_base .. id)
  redis.call('ZADD', taken, list == 'prioritized' and '-' .. score or score, id)
end

local reply = {}
local rows = page()
for i = 1, #rows, 2 do
  reply[#reply + 1] = rows[i]
  reply[#reply + 1] = rows[i + 1]
  reply[#reply + 1] = verdict_of(rows[i])
end
if is_look then return reply end

redis.call('ZCARD', taken)
local count_taken = 0
for i = 1, #reply, 3 do
  if reply[i + 2] == 'taken' then
    take(reply[i], reply[i + 1])
    count_taken = count_taken + 1
  end
end
if count_taken > 0 then redis.call('HINCRBY', settings, 'taken', count_taken) end
return reply
