-- Schedules dead letters again, with no attempt spent. Deliveries count on, and the last failure is kept.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET, meta HASH,
--       blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, tags HASH, tagged ZSET, answered STRING (the caller's latest call), claims HASH
-- ARGV  wake_command, channel, sequence, delay (ms),
--       ... (3 a dead letter: stored id, its death, epoch ms, an envelope in place of the stored one or '')
-- Reply {now_us, one digit a dead letter: 1 requeued, 0 there is none of that death}
-- Roles operator
-- Cost  O(n log size), n <= 200; one envelope at most
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer. So a message
-- that has died again meanwhile stays dead.

-- @use now (now_us, now_up)
local delay_ms = tonumber(delay)
-- @use times (MAX_TIME)
-- @use record (NO_TOKEN, parse_record, format_record)
-- @use envelopes (has_envelope)
-- @use head-due (head_due)
-- @use wake (wake)
local asked = redis.call('HMGET', meta, '', 'tagged')
-- @use forget (forget)
-- @use answered (earlier_answer, remember)
-- @use types (assert_sets, assert_hashes)
-- @use count (add)
-- @use dead-ids (dead_ids, ids_of)
-- @use largest (note_length)
local order_mode = redis.call('HGET', places, 'mode')
-- @use lines (line_up, leave_line, leave_lines)

local STRIDE = 3

local answer = earlier_answer()
if answer then return { now_us, answer } end
if not (delay_ms and delay_ms >= 0 and delay_ms <= MAX_TIME) then
  return redis.error_reply('REFUSED the delay is no number of milliseconds: ' .. delay)
end
local due = now_up + delay_ms
assert_sets(scheduled, dead, keyed)
assert_hashes(messages, deliveries, errors, meta)

local found, statuses = dead_ids(FIRST, STRIDE)
local records = #found > 0 and redis.call('HMGET', deliveries, unpack(ids_of(found))) or {}
local members, delivered, fields, gone, damaged = {}, {}, {}, {}, {}
for i = 1, #found do
  local n, id = found[i].n, found[i].id
  gone[#gone + 1] = id
  if not has_envelope(id) then
    damaged[#damaged + 1] = id
    statuses[n] = '0'
  else
    local _, delivery = parse_record(records[i])
    members[#members + 1] = due
    members[#members + 1] = id
    delivered[id] = delivery
    fields[#fields + 1] = id
    fields[#fields + 1] = format_record(NO_TOKEN, delivery, 0, due)
    local envelope = ARGV[FIRST + STRIDE * (n - 1) + 2]
    if envelope ~= '' then
      redis.call('HSET', messages, id, envelope)
      note_length(#envelope)
    end
  end
end

local head_before = head_due()
if #gone > 0 then redis.call('ZREM', dead, unpack(gone)) end
if #members > 0 then
  redis.call('HSET', deliveries, unpack(fields))
  if order_mode then
    for i = 2, #members, 2 do
      local id = members[i]
      leave_line(id)
      line_up(id, due, delivered[id])
    end
  else
    redis.call('ZADD', scheduled, unpack(members))
  end
end
if #damaged > 0 then
  forget(damaged)
  if order_mode then leave_lines(damaged) end
  add('repaired', #damaged)
end
statuses = table.concat(statuses)
remember(statuses)
if #gone > 0 then wake(head_before, head_due()) end
return { now_us, statuses }
