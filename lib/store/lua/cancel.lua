-- Cancels a message: removes it if it waits, marks it if it is in flight.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET,
--       meta HASH, blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, finished ZSET, endings HASH, tags HASH, tagged ZSET,
--       answered STRING (the caller's latest call), claims HASH
-- ARGV  wake_command, channel, sequence, remember_ms (how long the answer is kept; '' as usual), id,
--       seen_at, seen_envelope (only if it waits for that time, epoch ms, with that envelope; '' whatever it is)
-- Reply {now_us, 1 cancelled | 2 in flight | 0 not found}
-- Roles producer, consumer, operator
-- Cost  O(log size), and O(length of the envelope) if one was seen
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer.

-- @use now (now_us)
local asked = redis.call('HMGET', meta, 'finished', 'tagged')
-- @use answered (earlier_answer, remember)
-- @use types (assert_sets, assert_hashes)
-- @use count (add)
-- @use head-due (head_due)
-- @use wake (wake)
-- @use seen (is_as_seen)
local order_mode = redis.call('HGET', places, 'mode')
-- @use cancel (NOT_FOUND, CANCELLED, cancel_one)

local answer = earlier_answer()
if answer then return { now_us, tonumber(answer) } end
assert_sets(scheduled, inflight, keyed)
assert_hashes(messages, deliveries, errors)

local function is_meant()
  if seen_at == '' then return true end
  local score = redis.call('ZSCORE', scheduled, id) or order_mode and redis.call('ZSCORE', blocked, id)
  return score and is_as_seen(id, score)
end

-- "Not found" is an answer, too: a copy of the call must not find what was published since.
local result, next_due = NOT_FOUND, nil
if is_meant() then
  local head_before = head_due()
  result, next_due = cancel_one(id)
  if result == CANCELLED then add('cancelled', 1) end
  if result ~= NOT_FOUND then wake(head_before, next_due) end
end
remember(result, remember_ms)
return { now_us, result }
