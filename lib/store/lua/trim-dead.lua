-- Removes dead letters that are too old or too many.
--
-- KEYS  dead ZSET, messages HASH, deliveries HASH, errors HASH, keyed ZSET,
--       scheduled ZSET, inflight ZSET, blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, meta HASH, tags HASH, tagged ZSET,
--       answered STRING (the caller's latest call), claims HASH
-- ARGV  wake_command, channel, sequence, max_age (ms, -1 for any), max_count (-1 for any)
-- Reply {now_us, removed, next ms}
--       next: when to call again; -1 if nothing is left that will expire
-- Roles consumer
-- Cost  O(log size), removes at most 200
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which removes nothing. So a delayed copy does not go
-- by limits that no longer hold.

-- @use now (now_us, now)
local asked = redis.call('HMGET', meta, '', 'tagged')
-- @use forget (forget)
-- @use times (to_time)
local order_mode = redis.call('HGET', places, 'mode')
-- @use remove (assert_removable, remove)
-- @use answered (earlier_answer, remember)

local LIMIT = 100

local answered_next = tonumber(earlier_answer())
if answered_next then return { now_us, 0, answered_next } end
assert_removable()

local age, count = tonumber(max_age), tonumber(max_count)
local removed, more = 0, false

local function trim(ids)
  remove(dead, ids, forget)
  removed, more = removed + #ids, more or #ids == LIMIT
end

if age >= 0 then trim(redis.call('ZRANGEBYSCORE', dead, '-inf', now - age, 'LIMIT', 0, LIMIT)) end
if count >= 0 then
  local excess = math.min(redis.call('ZCARD', dead) - count, LIMIT)
  if excess > 0 then trim(redis.call('ZRANGE', dead, 0, excess - 1)) end
end

local next_at = -1
if more then
  next_at = now
elseif age >= 0 then
  local oldest = redis.call('ZRANGE', dead, 0, 0, 'WITHSCORES')[2]
  if oldest then next_at = to_time(oldest) + age end
end
remember(string.format('%d', next_at))
return { now_us, removed, next_at }
