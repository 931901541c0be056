-- Removes dead letters that are too old or too many.
--
-- KEYS  1 dead ZSET   2 messages HASH   3 deliveries HASH   4 errors HASH   5 keyed ZSET
-- ARGV  1 greatest age (ms), -1 for any   2 greatest number, -1 for any
-- Reply {now_us, removed, next ms}
--       next: when to call again; -1 where nothing is left that will expire
-- Cost  O(log size), removes at most 200

-- @include now
local dead, messages, deliveries, errors, keyed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local max_age, max_count = tonumber(ARGV[1]), tonumber(ARGV[2])
-- @include forget
-- @include types
-- @include times

local LIMIT = 100

assert_sets(keyed)
assert_hashes(messages, deliveries, errors)

local function remove(ids)
  if #ids == 0 then return 0 end
  redis.call('ZREM', dead, unpack(ids))
  forget(ids)
  return #ids
end

local removed, more = 0, false
if max_age >= 0 then
  local old = remove(redis.call('ZRANGEBYSCORE', dead, '-inf', now - max_age, 'LIMIT', 0, LIMIT))
  removed, more = removed + old, more or old == LIMIT
end
if max_count >= 0 then
  local excess = math.min(redis.call('ZCARD', dead) - max_count, LIMIT)
  if excess > 0 then
    removed, more = removed + remove(redis.call('ZRANGE', dead, 0, excess - 1)), more or excess == LIMIT
  end
end

local next_at = -1
if more then
  next_at = now
elseif max_age >= 0 then
  local oldest = redis.call('ZRANGE', dead, 0, 0, 'WITHSCORES')[2]
  if oldest then next_at = to_time(oldest) + max_age end
end
return { now_us, removed, next_at }
