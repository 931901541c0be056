-- Removes finished messages that are kept beyond the limits set by the partition's owner.
--
-- KEYS  finished ZSET, endings HASH, messages HASH, keyed ZSET, meta HASH
-- Reply {now_us, removed, next ms}
--       next: when to call again; 0 at once; -1 if nothing is left that will be too old
-- Roles consumer
-- Cost  O(log size), removes at most 400
--
-- Can be run at any time by any process: it goes by the stored limits.

-- @use now (now_us, now)
-- @use times (to_time)
local asked = redis.call('HMGET', meta, 'finished')
-- @use finished (greatest_age, greatest_count, keeps, drop)

local LIMIT = 200

if not greatest_count then return { now_us, 0, -1 } end
local removed, more = 0, false

local function trim(ids)
  drop(ids)
  removed, more = removed + #ids, more or #ids == LIMIT
end

if greatest_age >= 0 then trim(redis.call('ZRANGEBYSCORE', finished, '-inf', now - greatest_age, 'LIMIT', 0, LIMIT)) end
if greatest_count > 0 or greatest_count == 0 and greatest_age < 0 then
  local excess = math.min(redis.call('ZCARD', finished) - greatest_count, LIMIT)
  if excess > 0 then trim(redis.call('ZRANGE', finished, 0, excess - 1)) end
end
if not keeps and redis.call('ZCARD', finished) == 0 then redis.call('HDEL', meta, 'finished') end

local next_at = -1
if more then
  next_at = 0
elseif greatest_age >= 0 then
  local oldest = redis.call('ZRANGE', finished, 0, 0, 'WITHSCORES')[2]
  if oldest then next_at = to_time(oldest) + greatest_age end
end
return { now_us, removed, next_at }
