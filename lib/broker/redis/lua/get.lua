-- Looks one message up.
--
-- KEYS  1 scheduled ZSET   2 inflight ZSET   3 messages HASH   4 deliveries HASH   5 dead ZSET   6 errors HASH
-- ARGV  1 stored id
-- Reply {now_us}, or {now_us, state, envelope, score (text), deliveries, attempts, failure JSON or ''}
--       state scheduled | in-flight | dead
-- Cost  O(1)

-- @include now
local scheduled, inflight, messages, deliveries, dead, errors = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id = ARGV[1]
-- @include record

local envelope = redis.call('HGET', messages, id)
if not envelope then return { now_us } end

local state, at = 'scheduled', redis.call('ZSCORE', scheduled, id)
if not at then
  state, at = 'in-flight', redis.call('ZSCORE', inflight, id)
end
if not at then
  state, at = 'dead', redis.call('ZSCORE', dead, id)
end
if not at then return { now_us } end

local _, delivery, attempt = parse_record(redis.call('HGET', deliveries, id))
return { now_us, state, envelope, at, delivery, attempt, redis.call('HGET', errors, id) or '' }
