-- Stores new messages and schedules them.
--
-- KEYS  1 scheduled ZSET   2 inflight ZSET   3 messages HASH   4 deliveries HASH
--       5 dead ZSET        6 errors HASH     7 keyed ZSET      8 meta HASH
--       9 answered STRING, the caller's latest call
-- ARGV  1 wake command     2 wake channel    3 sequence
--       then 4 a message: stored id, envelope, due ('+ms' from now, or epoch ms), on duplicate (reject|ignore|replace)
-- Reply {now_us, 'base statuses kept'}
--       base      epoch ms that delays were added to
--       statuses  a digit a message: 1 created, 2 rejected, 3 ignored, 4 replaced
--       kept      due times (epoch ms, with commas) of those that were there before and stay: one for each 2 and 3
-- Cost  O(n log size), n <= 200
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer. So it is no
-- duplicate of itself, and a message that was handled meanwhile does not come to life again.

-- @include now
local scheduled, inflight, messages, deliveries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local dead, errors, keyed, meta, answered = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local wake_command, wake_channel, sequence = ARGV[1], ARGV[2], ARGV[3]
-- @include due-time
-- @include record
-- @include wake
-- @include forget
-- @include answered

local CREATED, REJECTED, IGNORED, REPLACED = 1, 2, 3, 4
local LARGE = 10240
local head_before = head_due()
local earliest

local FIRST, STRIDE = 4, 4

local answer = earlier_answer()
if answer then return { now_us, answer } end

local function note(due)
  if not earliest or due < earliest then earliest = due end
end

local function store(id, envelope, due)
  redis.call('HSET', messages, id, envelope)
  redis.call('ZADD', scheduled, due, id)
  if string.find(id, '\0', 1, true) then redis.call('ZADD', keyed, 0, id) end
  note(due)
end

-- The id exists, or came twice in this call.
local function publish_over(id, envelope, due, on_duplicate)
  local stored = redis.call('HGET', messages, id)
  if not stored then
    store(id, envelope, due)
    return CREATED, due
  end
  local token, delivery, attempt, last_due, mark = parse_record(redis.call('HGET', deliveries, id))

  local score = redis.call('ZSCORE', scheduled, id)
  local state = score and 'scheduled'
    or redis.call('ZSCORE', inflight, id) and 'inflight'
    or redis.call('ZSCORE', dead, id) and 'dead'
  local current_due = tonumber(score or replaced_until(mark) or last_due or now)

  if not state then
    -- An envelope in no set, left by a damage from outside: nobody will ever deliver it.
    redis.call('HINCRBY', meta, 'repaired', 1)
    forget({ id })
    store(id, envelope, due)
    return CREATED, due
  end
  if on_duplicate == 'reject' then return REJECTED, current_due end
  if on_duplicate == 'ignore' then return IGNORED, current_due end

  redis.call('HSET', messages, id, envelope)
  if state == 'inflight' then
    -- It must not run twice at once: the running delivery keeps its receipt, and its settle schedules the new message.
    redis.call('HSET', deliveries, id, format_record(token, delivery, attempt, last_due or now, string.format('r%.0f', due)))
    return REPLACED, due
  end
  if state == 'dead' then redis.call('ZREM', dead, id) end
  redis.call('HDEL', errors, id)
  redis.call('HDEL', deliveries, id)
  redis.call('ZADD', scheduled, due, id)
  note(due)
  return REPLACED, due
end

local ids = {}
for i = FIRST, #ARGV, STRIDE do ids[#ids + 1] = ARGV[i] end
local stored = redis.call('HMGET', messages, unpack(ids))

-- New ids, all but a few: written with one command for all.
local statuses, seen, fields, members, with_key, later = {}, {}, {}, {}, {}, {}
local longest = 0
for n = 1, #ids do
  local id, at = ids[n], FIRST + STRIDE * (n - 1)
  if #ARGV[at + 1] > longest then longest = #ARGV[at + 1] end
  if stored[n] or seen[id] then
    later[#later + 1] = n
  else
    seen[id] = true
    local due = due_time(ARGV[at + 2], now_up)
    fields[#fields + 1] = id
    fields[#fields + 1] = ARGV[at + 1]
    members[#members + 1] = due
    members[#members + 1] = id
    if string.find(id, '\0', 1, true) then
      with_key[#with_key + 1] = 0
      with_key[#with_key + 1] = id
    end
    note(due)
    statuses[n] = CREATED
  end
end
-- Claims go by it; most topics never see a message that matters.
if longest > LARGE and longest > tonumber(redis.call('HGET', meta, 'largest') or 0) then
  redis.call('HSET', meta, 'largest', longest)
end
if #fields > 0 then
  redis.call('HSET', messages, unpack(fields))
  redis.call('ZADD', scheduled, unpack(members))
  if #with_key > 0 then redis.call('ZADD', keyed, unpack(with_key)) end
end

local created, kept = #fields / 2, {}
for i = 1, #later do
  local n = later[i]
  local at = FIRST + STRIDE * (n - 1)
  local status, due = publish_over(ids[n], ARGV[at + 1], due_time(ARGV[at + 2], now_up), ARGV[at + 3])
  if status == REPLACED or status == CREATED then created = created + 1 end
  if status == REJECTED or status == IGNORED then kept[#kept + 1] = string.format('%.0f', due) end
  statuses[n] = status
end
if created > 0 then redis.call('HINCRBY', meta, 'published', created) end
answer = string.format('%.0f ', now_up) .. table.concat(statuses) .. ' ' .. table.concat(kept, ',')
remember(answer)
wake(head_before, earliest)
return { now_us, answer }
