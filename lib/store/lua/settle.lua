-- Ends deliveries. An outcome counts only if its token is that of the current delivery.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET, meta HASH,
--       blocked ZSET, queues ZSET, places HASH, running ZSET, rates HASH, rated ZSET, resting ZSET, finished ZSET, endings HASH,
--       tags HASH, tagged ZSET, answered STRING (the caller's latest call), owner STRING
-- ARGV  wake_command, channel, sequence, process (whose deliveries they are; '' if finished messages are not kept), durations (of the handler
--         calls, ms with commas, one a delivery; '' in the same case),
--       outcomes (a letter for all, or one a delivery; a ack, r retry, d dead, u dead without spending the attempt,
--         x the same since it expired, b back at once, p put off, k put off with all others of its key),
--       tokens (one a delivery, each with a space behind),
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
-- @use finished (keeps)
-- @use finish (head_of, keepable, finish)
local order_mode = redis.call('HGET', places, 'mode')
-- @use lines (leave_lines)

local answered_digits, answered_due = string.match(earlier_answer() or '', '^(%d+) (%-?%d+)$')
if answered_digits then return { now_us, answered_digits, tonumber(answered_due) } end

local tokens_of = {}

-- As modules/types.lua, without a function for each: acknowledgements are the most frequent calls of all. They write to few
-- keys, and `forget`, which then writes first, checks some of those itself.
redis.call('ZCARD', inflight)
local function assert_others()
  redis.call('ZCARD', scheduled)
  redis.call('ZCARD', dead)
  redis.call('ZCARD', keyed)
  redis.call('HLEN', messages)
  redis.call('HLEN', errors)
end
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

local total = 0
for token in string.gmatch(tokens, '[^ ]+ ') do
  total = total + 1
  tokens_of[total] = token
end
local detail = FIRST + total

local delays = {}
for at = detail, #ARGV, 2 do
  local delay = tonumber(ARGV[at])
  delays[at] = delay
  if not (delay and delay >= 0 and delay <= MAX_TIME) then
    return redis.error_reply('REFUSED the delay of an outcome is no number of milliseconds: ' .. ARGV[at])
  end
end

local ids = { unpack(ARGV, FIRST, FIRST + total - 1) }
local records = redis.call('HMGET', deliveries, unpack(ids))

local statuses = {}
-- @use earliest (earliest, note)
-- @use settle-one (settle, remove, ended, gone, gone_as, places_of, counts, head_before)

-- Nearly all are the current delivery of a message without a mark. Parsing their records would cost more than all the rest of
-- an ack. The token has its space behind.
local function is_plain(record, token)
  return record and token ~= '0 ' and string.find(record, token, 1, true) == 1
end

local served = keeps and keepable(ids) or total
for n = 1, served do
  local id, token = ids[n], tokens_of[n]
  local outcome = #outcomes == 1 and outcomes or string.sub(outcomes, n, n)
  if outcome == 'a' and not ended[id] and is_plain(records[n], token) then
    ended[id] = true
    remove(n, 'acked')
    statuses[n] = '1'
  else
    local delay, failure
    if outcome ~= 'a' then
      delay, failure = delays[detail], ARGV[detail + 1]
      detail = detail + 2
    end
    statuses[n] = settle(n, string.sub(token, 1, -2), outcome, delay, failure)
  end
end

if #gone > 0 then
  local heads, kept_records, took = {}, {}, {}
  if keeps then
    for duration in string.gmatch(durations, '%d+') do took[#took + 1] = duration end
    for at = 1, #gone do
      local n = places_of[at]
      heads[at] = head_of(gone_as[at] == 'acked' and 'a' or 'c', took[n], process ~= '' and process or nil)
      kept_records[at] = records[n]
    end
  end
  finish(gone, heads, kept_records)
  redis.call('ZREM', inflight, unpack(gone))
  if order_mode then note(leave_lines(gone)) end
end
for counter, n in pairs(counts) do
  if n > 0 then add(counter, n) end
end
statuses = table.concat(statuses) .. string.rep('4', total - served)
-- The owner learns from the answer what is due: signals can get lost. Another process may have delivered the messages.
local due = -1
if earliest and (not head_before or earliest < head_before) then
  if claimant ~= '' and redis.pcall('GET', owner) == claimant then due = earliest else wake(head_before, earliest) end
end
remember(string.format('%s %d', statuses, due))
return { now_us, statuses, due }
