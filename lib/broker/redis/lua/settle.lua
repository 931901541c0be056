-- Ends deliveries. Each outcome counts only where its token is that of the current delivery.
--
-- KEYS  1 scheduled ZSET   2 inflight ZSET   3 messages HASH   4 deliveries HASH   5 dead ZSET
--       6 errors HASH      7 keyed ZSET      8 meta HASH       9 answered STRING, the caller's latest call
-- ARGV  1 wake command     2 wake channel    3 sequence
--       then 5 a delivery: stored id, token, outcome, delay ms, failure JSON
--       outcome a ack, r retry, d dead, u dead without spending the attempt, b back at once (release), p put off
-- Reply {now_us, one digit a delivery: 1 settled, 0 stale, 2 the message was cancelled, 3 the message was replaced and
--       its delivery was no success}
-- Cost  O(n log size), n <= 200
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer.

-- @include now
local scheduled, inflight, messages, deliveries, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local errors, keyed, meta, answered = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local wake_command, wake_channel, sequence = ARGV[1], ARGV[2], ARGV[3]
-- @include record
-- @include wake
-- @include forget
-- @include answered
-- @include history

local answer = earlier_answer()
if answer then return { now_us, answer } end

local ids = {}
for i = 4, #ARGV, 5 do ids[#ids + 1] = ARGV[i] end
local records = redis.call('HMGET', deliveries, unpack(ids))

local statuses, ended, gone = {}, {}, {}
local head_before, earliest
local counts = { acked = 0, retried = 0, died = 0, cancelled = 0, stale = 0 }

local function count(counter) counts[counter] = counts[counter] + 1 end

local function reschedule(id, due, delivery, attempt)
  if not earliest then head_before = head_due() end
  redis.call('ZADD', scheduled, due, id)
  redis.call('HSET', deliveries, id, format_record(0, delivery, attempt, due))
  if not earliest or due < earliest then earliest = due end
end

-- The first delivery has no earlier failures to look for.
local function keep(id, failure, delivery)
  redis.call('HSET', errors, id, delivery > 1 and with_history(id, failure) or failure)
end

for n = 1, #ids do
  local at = 5 * n - 1
  local id, token, outcome = ids[n], tonumber(ARGV[at + 1]), ARGV[at + 2]
  local current, delivery, attempt, due, mark = parse_record(records[n])
  if current ~= token or token == 0 or ended[id] then
    statuses[n] = '0'
    count('stale')
  else
    statuses[n] = '1'
    ended[id] = true
    if mark == 'c' and outcome ~= 'a' then
      statuses[n] = '2'
      gone[#gone + 1] = id
      count('cancelled')
    elseif replaced_until(mark) then
      redis.call('ZREM', inflight, id)
      redis.call('HDEL', errors, id)
      reschedule(id, replaced_until(mark), delivery, 0)
      if outcome == 'a' then count('acked') else statuses[n] = '3' end
    elseif outcome == 'a' then
      gone[#gone + 1] = id
      count('acked')
    else
      redis.call('ZREM', inflight, id)
      local delay = tonumber(ARGV[at + 3])
      if outcome == 'r' then
        keep(id, ARGV[at + 4], delivery)
        reschedule(id, now_up + delay, delivery, attempt)
        count('retried')
      elseif outcome == 'd' or outcome == 'u' then
        local spent = outcome == 'd' and attempt or attempt - 1
        redis.call('ZADD', dead, now, id)
        keep(id, ARGV[at + 4], delivery)
        redis.call('HSET', deliveries, id, format_record(0, delivery, spent, due))
        count('died')
      elseif outcome == 'p' then
        reschedule(id, now_up + delay, delivery, attempt - 1)
      else
        reschedule(id, due, delivery, attempt - 1)
      end
    end
  end
end

if #gone > 0 then
  redis.call('ZREM', inflight, unpack(gone))
  forget(gone)
end
for counter, n in pairs(counts) do
  if n > 0 then redis.call('HINCRBY', meta, counter, n) end
end
statuses = table.concat(statuses)
remember(statuses)
wake(head_before, earliest)
return { now_us, statuses }
