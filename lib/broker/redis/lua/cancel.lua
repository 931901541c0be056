-- Cancels a message: removes it where it waits, marks it where it is being handled.
--
-- KEYS  1 scheduled ZSET   2 inflight ZSET   3 messages HASH   4 deliveries HASH
--       5 errors HASH      6 keyed ZSET      7 meta HASH       8 answered STRING, the caller's latest call
-- ARGV  1 wake command     2 wake channel    3 sequence        4 stored id
-- Reply {now_us, 1 cancelled | 2 in flight | 0 not found}
-- Cost  O(log size)
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer.

-- @include now
local scheduled, inflight, messages, deliveries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local errors, keyed, meta, answered = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local wake_command, wake_channel, sequence, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- @include record
-- @include forget
-- @include answered
-- @include types
-- @include count

local NOT_FOUND, CANCELLED, IN_FLIGHT = 0, 1, 2

local answer = earlier_answer()
if answer then return { now_us, tonumber(answer) } end
assert_sets(scheduled, inflight, keyed)
assert_hashes(messages, deliveries, errors, meta)

if redis.call('ZREM', scheduled, id) == 1 then
  forget({ id })
  add('cancelled', 1)
  remember(CANCELLED)
  return { now_us, CANCELLED }
end

if redis.call('ZSCORE', inflight, id) then
  local token, delivery, attempt, due = parse_record(redis.call('HGET', deliveries, id))
  redis.call('HSET', deliveries, id, format_record(token, delivery, attempt, due or now, 'c'))
  redis.call(wake_command, wake_channel, string.format('cancelled %d ', token) .. id)
  remember(IN_FLIGHT)
  return { now_us, IN_FLIGHT }
end
return { now_us, NOT_FOUND }
