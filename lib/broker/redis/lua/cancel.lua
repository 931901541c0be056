-- Cancels a message: removes it where it waits, marks it where it is being handled.
--
-- KEYS  1 scheduled ZSET   2 inflight ZSET   3 messages HASH   4 deliveries HASH
--       5 errors HASH      6 keyed ZSET      7 meta HASH
-- ARGV  1 wake command     2 wake channel    3 stored id
-- Reply {now_us, 1 cancelled | 2 in flight | 0 not found}
-- Cost  O(log size)

-- @include now
local scheduled, inflight, messages, deliveries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local errors, keyed, meta = KEYS[5], KEYS[6], KEYS[7]
local wake_command, wake_channel, id = ARGV[1], ARGV[2], ARGV[3]
-- @include record
-- @include forget

if redis.call('ZREM', scheduled, id) == 1 then
  forget({ id })
  redis.call('HINCRBY', meta, 'cancelled', 1)
  return { now_us, 1 }
end

if redis.call('ZSCORE', inflight, id) then
  local token, delivery, attempt, due = parse_record(redis.call('HGET', deliveries, id))
  redis.call('HSET', deliveries, id, format_record(token, delivery, attempt, due or now, 'c'))
  redis.call(wake_command, wake_channel, string.format('cancelled %.0f ', token) .. id)
  return { now_us, 2 }
end
return { now_us, 0 }
