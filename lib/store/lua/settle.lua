-- Ends deliveries. An outcome counts only if its token is that of the current delivery.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET, meta HASH,
--       blocked ZSET, queues ZSET, places HASH, running ZSET, rates HASH, rated ZSET, resting ZSET, finished ZSET, endings HASH,
--       tags HASH, tagged ZSET, answered STRING (the caller's latest call), owner STRING, claims HASH
-- ARGV  wake_command, channel, sequence, process (whose deliveries they are; '' if finished messages are not kept), durations (of the handler
--         calls, ms with commas, one a delivery; '' in the same case),
--       outcomes (a letter for all, or one a delivery; a ack, r retry, d dead, u dead without spending the attempt,
--         x the same since it expired, b back at once, p put off, k put off with all others of its key),
--       tokens (with a space behind each; one a delivery, or one for all of a shared record that follow each other, see modules/settle-tokens.lua),
--       claimant (the caller as the owner of the partition, which then learns from the answer what is due; '' if it is not),
--       ... (1 a delivery: stored id; then 2 a delivery whose outcome is no ack: delay ms, failure JSON; with b, u and x in place of the delay
--         the time under which it stands in the log of its key if its handler was not called, else 0)
-- Reply {now_us, digits, due}
--       digits   one a delivery: 1 settled, 0 stale, 2 the message was cancelled, 3 the message was replaced and its delivery did not
--                succeed, 4 not settled: to be sent again, by another call
--       due      when a message is due that was not before, epoch ms; -1 if none is, or a signal was sent
-- Roles consumer
-- Cost  O(n log size), n <= 200; if finished messages are kept it stops early once the envelopes add up to 256 KiB, since they are copied
--
-- Arguments that it cannot use, such as a delay that is not a number, are refused before anything is written. So is a call with
-- an outcome that is no ack if Redis is full, unless the script can write all the same.
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer.

-- @use now (now_us)
-- @use times (MAX_TIME)
-- @use wake (wake)
-- This shows the type of `meta`, too.
local asked = redis.call('HMGET', meta, 'finished', 'tagged')
-- @use answered (earlier_answer, remember)
-- @use count (add)
-- @use finish
local order_mode = redis.call('HGET', places, 'mode')
-- Mostly deliveries have only succeeded, in a topic without an order, and such a call does without what only others need.
local reads_keys, reads_shared = order_mode or outcomes ~= 'a', order_mode or string.find(tokens, '+', 1, true)
-- @use shared-records if reads_shared
-- @use heads if reads_keys
-- @use queues if order_mode
-- @use lines

local answered_digits, answered_due = string.match(earlier_answer() or '', '^(%d+) (%-?%d+)$')
if answered_digits then return { now_us, answered_digits, tonumber(answered_due) } end

redis.call('ZCARD', inflight)
-- @use settle-types (assert_others)
if outcomes ~= 'a' then
  assert_others()
  if string.find(outcomes, '[bkux]') then
    redis.call('HLEN', rates)
    redis.call('ZCARD', rated)
    redis.call('ZCARD', resting)
  end
  -- Redis refuses only a write that may take memory, and only the first one of a script. This one changes nothing.
  redis.call('ZADD', scheduled, 'XX', 'GT', '-inf', '')
end

-- @use settle-tokens (total)
local details = { unpack(ARGV, FIRST + total) }
for at = 1, #details, 2 do
  local delay = tonumber(details[at])
  if not (delay and delay >= 0 and delay <= MAX_TIME) then
    return redis.error_reply('REFUSED the delay of an outcome is no number of milliseconds: ' .. details[at])
  end
  details[at] = delay
end

local ids = { unpack(ARGV, FIRST, FIRST + total - 1) }
-- @use earliest (earliest)
-- @use head-before (head_before)
-- @use settle-acks (are_acked)
local digits
if are_acked then
  digits = string.rep('1', total)
  add('acked', total)
else
  -- @use settle-deliveries (statuses, acked_here)
  digits = statuses
  if acked_here > 0 then add('acked', acked_here) end
end
-- The owner learns from the answer what is due: signals can get lost. Another process may have delivered the messages.
local due = -1
if earliest and (not head_before or earliest < head_before) then
  if claimant ~= '' and redis.pcall('GET', owner) == claimant then due = earliest else wake(head_before, earliest) end
end
remember(string.format('%s %d', digits, due))
return { now_us, digits, due }
