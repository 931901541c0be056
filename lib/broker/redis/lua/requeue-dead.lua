-- Schedules dead letters again, with no attempt spent. Deliveries count on, and the last failure is kept.
--
-- KEYS  1 scheduled ZSET   2 messages HASH   3 deliveries HASH   4 dead ZSET
--       5 errors HASH      6 keyed ZSET      7 meta HASH         8 answered STRING, the caller's latest call
-- ARGV  1 wake command     2 wake channel    3 sequence          4 delay (ms)
--       then 3 a dead letter: stored id, its death (epoch ms), an envelope in place of the stored one or ''
-- Reply {now_us, one digit a dead letter: 1 requeued, 0 there is none of that death}
-- Cost  O(n log size), n <= 200; one envelope at most
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer. So what has
-- died again meanwhile stays dead.

-- @include now
local scheduled, messages, deliveries, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local errors, keyed, meta, answered = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local wake_command, wake_channel, sequence = ARGV[1], ARGV[2], ARGV[3]
local delay = tonumber(ARGV[4])
-- @include record
-- @include envelopes
-- @include wake
-- @include forget
-- @include answered
-- @include types
-- @include count
-- @include dead-ids
-- @include largest

local FIRST, STRIDE = 5, 3

local answer = earlier_answer()
if answer then return { now_us, answer } end
if not (delay and delay >= 0 and delay <= MAX_NUMBER) then
  return redis.error_reply('REFUSED the delay is no number of milliseconds: ' .. ARGV[4])
end
local due = now_up + delay
assert_sets(scheduled, dead, keyed)
assert_hashes(messages, deliveries, errors, meta)

local found, statuses = dead_ids(FIRST, STRIDE)
local records = #found > 0 and redis.call('HMGET', deliveries, unpack(ids_of(found))) or {}
local members, fields, gone, damaged = {}, {}, {}, {}
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
    fields[#fields + 1] = id
    fields[#fields + 1] = format_record(0, delivery, 0, due)
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
  redis.call('ZADD', scheduled, unpack(members))
  redis.call('HSET', deliveries, unpack(fields))
end
if #damaged > 0 then
  forget(damaged)
  add('repaired', #damaged)
end
statuses = table.concat(statuses)
remember(statuses)
if #members > 0 then wake(head_before, due) end
return { now_us, statuses }
