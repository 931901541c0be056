-- Moves a message that waits to another due time. Everything else stays as it is.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET,
--       blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, answered STRING (the caller's latest call), claims HASH
-- ARGV  wake_command, channel, sequence, remember_ms (how long the answer is kept; '' as usual), id, due_spec ('+ms' from now, or epoch ms),
--       when ('earlier': only if that is earlier; or 'always'),
--       seen_at, seen_envelope (only if it waits for that time, epoch ms, with that envelope; '' whatever it is)
-- Reply {now_us, 1 moved | 2 in flight | 3 dead | 0 not found}
-- Roles producer, consumer, operator
-- Cost  O(log size), and O(length of the envelope) if one was seen
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer. So a delay is
-- counted once, and later changes to the message stay.

-- @use now (now_us, now_up)
-- @use times (MAX_TIME, to_time)
-- @use due-time (due_time)
-- @use record (parse_record)
-- @use lease (lease_of)
-- @use envelopes (has_envelope)
-- @use seen (is_as_seen)
-- @use head-due (head_due)
-- @use wake (wake)
-- @use answered (earlier_answer, remember)
-- @use types (assert_sets, assert_hashes)
local order_mode = redis.call('HGET', places, 'mode')
-- @use move (move)

local NOT_FOUND, MOVED, IN_FLIGHT, DEAD = 0, 1, 2, 3

local answer = earlier_answer()
if answer then return { now_us, tonumber(answer) } end
local due = due_time(due_spec, now_up)
if not (due and due >= 0 and due <= MAX_TIME) then
  return redis.error_reply('REFUSED the due time is no time: ' .. due_spec)
end
assert_sets(scheduled, inflight, dead)
assert_hashes(messages, deliveries)

local result = NOT_FOUND
local score = redis.call('ZSCORE', scheduled, id) or order_mode and redis.call('ZSCORE', blocked, id)
if score then
  -- An id without an envelope is no message; the claim that meets it removes it.
  if has_envelope(id) and is_as_seen(id, score) then result = MOVED end
elseif seen_at ~= '' then
  result = NOT_FOUND
elseif lease_of(id) then
  result = IN_FLIGHT
elseif redis.call('ZSCORE', dead, id) then
  result = DEAD
end

-- In an order, a message held back by a limit of its key is in `scheduled` for when it can begin.
local function current_due()
  local _, _, _, last_due = parse_record(redis.call('HGET', deliveries, id))
  return order_mode and order_mode ~= 'limits' and last_due or to_time(score)
end

-- A message whose due time stays keeps its place, too.
if result == MOVED and (when ~= 'earlier' or due < current_due()) then
  local head_before = head_due()
  move(id, due)
  wake(head_before, head_due())
end
remember(result, remember_ms)
return { now_us, result }
