-- Cancels a message: removes it if it waits, marks it if it is in flight.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET,
--       meta HASH, blocked ZSET, queues ZSET, places HASH, running ZSET,
--       answered STRING (the caller's latest call)
-- ARGV  wake_command, channel, sequence, id
-- Reply {now_us, 1 cancelled | 2 in flight | 0 not found}
-- Cost  O(log size)
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer.

-- @include now
-- @include times
-- @include record
-- @include forget
-- @include answered
-- @include types
-- @include count
-- @include wake
local order_mode = redis.call('HGET', places, 'mode')
-- @include heads
-- @include queues
-- @include order
-- @include limits

local NOT_FOUND, CANCELLED, IN_FLIGHT = 0, 1, 2

local answer = earlier_answer()
if answer then return { now_us, tonumber(answer) } end
assert_sets(scheduled, inflight, keyed)
assert_hashes(messages, deliveries, errors, meta)

local head_before = head_due()
if redis.call('ZREM', scheduled, id) == 1 or order_mode and redis.call('ZSCORE', blocked, id) then
  forget({ id })
  if order_mode then wake(head_before, leave_line(id)) end
  add('cancelled', 1)
  remember(CANCELLED)
  return { now_us, CANCELLED }
end

if redis.call('ZSCORE', inflight, id) then
  local token, delivery, attempt, due = parse_record(redis.call('HGET', deliveries, id))
  redis.call('HSET', deliveries, id, format_record(token, delivery, attempt, due or now, 'c'))
  redis.call(wake_command, channel, 'cancelled ' .. token .. ' ' .. id)
  remember(IN_FLIGHT)
  return { now_us, IN_FLIGHT }
end
return { now_us, NOT_FOUND }
