-- Moves a message that waits to another due time. All else of it stays as it is.
--
-- KEYS  1 scheduled ZSET   2 inflight ZSET   3 messages HASH   4 deliveries HASH
--       5 answered STRING, the caller's latest call
-- ARGV  1 wake command     2 wake channel    3 sequence        4 stored id
--       5 due ('+ms' from now, or epoch ms)   6 earlier, for only where it is
-- Reply {now_us, 1 rescheduled | 2 in flight | 0 not found}
-- Cost  O(log size)
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer. So a delay is
-- counted once, and what others have done to the message meanwhile stays done.

-- @include now
local scheduled, inflight, messages, deliveries, answered = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local wake_command, wake_channel, sequence, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- @include due-time
-- @include record
-- @include envelopes
-- @include wake
-- @include answered
-- @include types
-- @include times

local NOT_FOUND, RESCHEDULED, IN_FLIGHT = 0, 1, 2

local answer = earlier_answer()
if answer then return { now_us, tonumber(answer) } end
local due = due_time(ARGV[5], now_up)
if not (due and due >= 0 and due <= MAX_NUMBER) then
  return redis.error_reply('REFUSED the due time is no time: ' .. ARGV[5])
end
assert_sets(scheduled, inflight)
assert_hashes(messages, deliveries)

local result = NOT_FOUND
if redis.call('ZSCORE', scheduled, id) then
  -- An id without an envelope is no message; the claim that meets it removes it.
  if has_envelope(id) then result = RESCHEDULED end
elseif redis.call('ZSCORE', inflight, id) then
  result = IN_FLIGHT
end

if result == RESCHEDULED then
  if ARGV[6] == 'earlier' then due = math.min(due, to_time(redis.call('ZSCORE', scheduled, id))) end
  local head_before = head_due()
  redis.call('ZADD', scheduled, due, id)
  local record = redis.call('HGET', deliveries, id)
  if record then
    local _, delivery, attempt = parse_record(record)
    redis.call('HSET', deliveries, id, format_record(0, delivery, attempt, due))
  end
  wake(head_before, due)
end
remember(result)
return { now_us, result }
