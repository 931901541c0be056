-- Hands messages to the owner of the partition: those whose lease ended first, then those that are due.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET, owner STRING,
--       meta HASH, blocked ZSET, queues ZSET, places HASH, running ZSET, rates HASH, rated ZSET, resting ZSET, finished ZSET,
--       endings HASH, tags HASH, tagged ZSET, handed STRING (what the latest claim at most once has handed out)
-- ARGV  claimant (as it is stored as the owner: its epoch, a space, its session), sequence (of the claim),
--       delivered (the number of the claimant's latest delivery), max (0: it tells what is next),
--       lease (ms; 0: at most once, what is handed out is gone), room (for suspects),
--       whole_room (what it is while no suspect runs),
--       finished_limits (what is to be kept of finished messages from now on, see includes/finished.lua; '' for nothing),
--       terms ('' for a topic without order or limits; else
--       '<order, - for none> <most in flight of a key> <most of a key within the window> <window, ms> <1 to count what is due>
--       <lead, ms> <slack, ms> <ahead, ms>', 0 for no limit; lead and slack say when what a rate grants begins, as for `permit`, and
--       `ahead` how long before a key may go on it wants to be told to claim, so that the claim is there in time)
-- Reply {now_us, status, delivered, next, repaired, records, suspects, granted, keeps_finished, then 2 a message: stored id, envelope},
--       or {now_us, 0, the owner that is stored, '' for none} if the claimant is not the owner, or has claimed since
--       status   1 claimed, 2 paused, 3 held: nothing of the topic begins before next
--       next     earliest due time or end of a lease, epoch ms, or when a limit allows more; -1 if nothing waits
--       records  4 numbers a message with spaces: number of the delivery, delivery, attempt, due ms; commas between messages
--       suspects '' mostly; else with commas 1 if some were held back, or 0, and 2 numbers for each one that takes room: its
--                place among the messages, from 0, and the room it takes
--       granted  '' mostly; else with commas the time under which the deliveries stand in the logs of their keys, ms or 0, how many
--                messages are still due, -1 if that was not asked for, when the deliveries may begin, epoch ms or 0, and in how many ms that is
--       keeps_finished 1 if finished messages are kept, or some are left | 0
-- Cost  O(max log size), max <= 200; looks at 400 messages at most, those that limits hold back among them, and stops early once the
--       envelopes add up to 1 MiB, or 256 KiB if what is handed out is kept as finished
--
-- A delivery's token is the claimant's epoch, a dot and the number of the delivery. `claim` of meta is the latest claim:
-- '<epoch> <sequence> <number of its latest delivery>', and behind that, if rates of keys have granted something, the time under which it
-- stands in their logs, and when it may begin.
--
-- A message whose delivery ended with its lease may have killed its process, and is a suspect from the second time on. Suspects
-- of two crashes run in groups, and those of more alone, so that the crash of a group is not held against the innocent: only
-- what ran alone spends an attempt by its crash. What there is no room for stays as it is.
--
-- A key may have limits, or rest. What is due of it and may not be delivered waits as includes/key-limits.lua says; what was delivered
-- before and its lease has ended stays in flight until it may come again.
--
-- Arguments that it cannot use, such as a lease that is not a number, are refused before anything is written.
-- May be run again with the same arguments: the sequence tells a repeat, which gets the deliveries that the first run made as
-- they are, whatever its max. A run that comes after a later claim changes nothing. What was handed out at most once is kept in
-- `handed` for a while, as '<epoch> <sequence> <numbers>;<suspects>' and behind a line break, of each message, the lengths of its stored id
-- and its envelope, and both.

-- @include now
local most, lease_ms, order, known = tonumber(max), tonumber(lease), tonumber(sequence), tonumber(delivered)
local free, whole = tonumber(room), tonumber(whole_room)
-- @include times
-- @include record
-- @include envelopes
local state = redis.call('HMGET', meta, 'finished', 'tagged', 'paused', 'claim', 'largest', 'held')
local asked = state
-- @include tags
-- @include forget
-- @include count
-- What this owner wants holds from now on. If it wants nothing, what was kept stays for as long as it was promised.
local limits_before = asked[1] or ''
if finished_limits ~= '' then asked[1] = finished_limits elseif asked[1] then asked[1] = (string.match(asked[1], '^%d+ ') or '-1 ') .. '0' end
-- @include finished
-- @include finish
-- @include rate-log
local order_of_topic, key_max, key_rate, key_window, counts_due, key_lead, key_slack, key_ahead = string.match(
  terms,
  '^(%S+) (%d+) (%d+) (%d+) (%d) (%d+) (%d+) (%d+)$'
)
key_max, key_rate, key_window = tonumber(key_max) or 0, tonumber(key_rate) or 0, tonumber(key_window) or 0
key_lead, key_slack, key_ahead = tonumber(key_lead) or 0, tonumber(key_slack) or 0, tonumber(key_ahead) or 0
-- Without a rate whatever is delivered begins at once.
if key_rate == 0 then key_lead, key_slack, key_ahead = 0, 0, 0 end
local is_limited = key_max > 0 or key_rate > 0
local is_blocking = redis.call('ZCARD', blocked) > 0
-- The limits of the latest claim, and how far what they held back was looked at since they have changed.
local known_mode = redis.call('HMGET', places, 'mode', 'terms', 'relook')
local stored_mode = known_mode[1]
-- If something is blocked, there was an order, or a limit.
local order_mode = stored_mode
if not order_mode and (is_blocking or is_limited) then
  order_mode = (order_of_topic or '-') ~= '-' and order_of_topic or 'limits'
end
-- @include heads
-- @include queues
-- @include order
-- @include limits

local CHUNK, ROUNDS, ENDED_ROUNDS, MAX_BYTES, MAX_KEPT_BYTES = 100, 4, 3, 1048576, 262144
-- From how many crashes on a message is a suspect, and a suspect runs alone.
local SUSPECT, ALONE = 2, 3
-- For how many ms what was handed out at most once is kept for a repeat of the claim.
local KEEP_HANDED = 120000
-- At how many keys that have rested long enough a claim looks.
local CHUNK_OF_KEYS = 100
-- How many of the blocked messages a claim tries, and after how many ms to try more if nothing else waits: in an ordered topic all wait
-- behind dead letters then.
local TRIED, TRY_AGAIN = 3, order_mode == 'limits' and 30000 or 300000

local has_keys = order_mode
  and (is_limited or redis.call('HLEN', rates) > 0 or redis.call('ZCARD', resting) > 0)
-- @include key-limits

local stored_owner = redis.call('GET', owner) or ''
local epoch, session = string.match(claimant, '^([^ ]+) (.+)$')
if not epoch or stored_owner ~= claimant then return { now_us, 0, stored_owner } end
if not (lease_ms and lease_ms >= 0 and lease_ms <= MAX_TIME) then
  return redis.error_reply('REFUSED the lease is no number of milliseconds: ' .. lease)
end
if not (order and order >= 1 and order <= MAX_TIME and known and known >= 0 and known <= MAX_TIME) then
  return redis.error_reply('REFUSED the claim or its latest delivery has no number: ' .. sequence .. ', ' .. delivered)
end
if not (free and whole) then
  return redis.error_reply('REFUSED the room for suspects is no number: ' .. room .. ', ' .. whole_room)
end
if terms ~= '' and not counts_due then return redis.error_reply('REFUSED the terms cannot be read: ' .. terms) end

local held_until = tonumber(state[6])
if held_until and (held_until <= now or held_until > now + LONGEST) then held_until = nil end

-- The sequence of the latest claim in this epoch and the number of its latest delivery; 0 and 0 if there was none, or if what is
-- stored of it is damaged.
local function latest_claim()
  local by, nth, latest_delivery, granted, begins = string.match(state[4] or '', '^([^ ]+) (%d+) (%d+) ?(%d*) ?(%d*)$')
  if by ~= epoch then return 0, 0 end
  nth, latest_delivery = tonumber(nth), tonumber(latest_delivery)
  if nth > MAX_TIME or latest_delivery > MAX_TIME then return 0, 0 end
  return nth, latest_delivery, tonumber(granted) or 0, tonumber(begins) or 0
end

local latest, highest, granted_before, began_before = latest_claim()
if order < latest then return { now_us, 0, stored_owner } end
local is_repeat = order == latest
-- As includes/types.lua, without a function for each. The type of `inflight` shows before the first write.
redis.call('ZCARD', scheduled)
redis.call('ZCARD', keyed)
redis.call('HLEN', messages)
redis.call('HLEN', deliveries)
local has_failures = redis.call('HLEN', errors) > 0
if has_keys then
  redis.call('HLEN', rates)
  for _, key in ipairs({ running, rated, resting }) do redis.call('ZCARD', key) end
end
local is_once = lease_ms == 0
local handed_before = is_once and is_repeat and redis.call('GET', handed) or ''
-- What is kept is copied.
local max_bytes = is_once and keeps and MAX_KEPT_BYTES or MAX_BYTES
-- Of the latest delivery. A number is never used again, whether the owner or this partition knows of it.
local number_before = math.max(highest, known)
local number = number_before
local token_start = epoch .. '.'
local reply = { now_us, 1, number, -1, 0, '', '', '', asked[1] and 1 or 0 }
local announced = {}
local taken, bytes, repaired = 0, 0, 0
-- As text, since Redis turns a number into one with 17 digits, which takes long.
local deadline = string.format('%d', now + lease_ms)

-- The numbers of a delivery, with spaces.
local function numbers_of(nth, delivery, attempt, due) return string.format('%d %d %d %d', nth, delivery, attempt, due) end

local suspects, held = {}, 0

-- How much room a message takes after so many crashes.
local function room_for(crashes)
  return crashes >= ALONE and whole or crashes >= SUSPECT and 1 or 0
end

local function announce(id, envelope, numbers, crashes)
  local weight = room_for(crashes)
  if weight > 0 then suspects[#suspects + 1] = string.format('%d,%d', taken, weight) end
  taken = taken + 1
  announced[taken] = numbers
  reply[2 * taken + 8], reply[2 * taken + 9] = id, envelope
  bytes = bytes + #envelope
end

-- Those of the ids, whose leases have ended, that there is room for, and whose keys allow it.
local function admitted(ids)
  local records, result, later = redis.call('HMGET', deliveries, unpack(ids)), {}, {}
  if has_keys then load_states(ids) end
  for i = 1, #ids do
    local _, _, _, _, mark, crashes = parse_record(records[i])
    local needed = mark == '' and room_for(crashes + 1) or 0
    local allowed, at = true, nil
    if needed <= free and has_keys and mark == '' then allowed, at = may_come_again(ids[i]) end
    if not allowed then
      later[#later + 1], later[#later + 2] = string.format('%d', at), ids[i]
    elseif needed <= free then
      free = free - needed
      result[#result + 1] = ids[i]
    else
      held = held + 1
    end
  end
  if #later > 0 then redis.call('ZADD', inflight, unpack(later)) end
  return result
end

local function leave(ids)
  leave_lines(ids)
  if has_keys then has_ended(ids) end
end

-- Ends what was cancelled while in flight, or schedules what was replaced, once nobody will settle its delivery any more. The
-- id is in neither set. Answers whether the message was one of those.
local function conclude(id, mark, record)
  if mark == 'c' then
    finish({ id }, keeps and { head_of('c') }, { record })
    if order_mode then leave({ id }) end
    add('cancelled', 1)
    return true
  end
  local due = replaced_until(mark)
  if not due then return false end
  redis.call('HDEL', errors, id)
  redis.call('HSET', deliveries, id, format_record(NO_TOKEN, 0, 0, due, first_mark(mark)))
  if order_mode then
    leave({ id })
    line_up(id, due, 0)
  else
    redis.call('ZADD', scheduled, due, id)
  end
  return true
end

-- Redis keeps what is small, by default up to 128 entries of 64 bytes, as a list that it searches from its beginning, which
-- takes most of the time of a claim that fills it. What has ever held a longer entry is no such list any more.
local MANY, LONG_ENTRY = 24, string.rep('\0', 65)

-- Makes deliveries of the given ids, which are in neither set any more. `dues`, as text, is nil for those whose lease ended.
local function deliver(ids, dues)
  local envelopes = redis.call('HMGET', messages, unpack(ids))
  -- Mostly all records are of messages in flight, so that these ids have none. Another program may have put entries in flight
  -- that have no record; attempts that are spent have left a failure.
  local has_records = has_failures or redis.call('HLEN', deliveries) > redis.call('ZCARD', inflight)
  local records = has_records and redis.call('HMGET', deliveries, unpack(ids)) or {}
  local members, fields, size, orphans = {}, {}, 0, {}
  -- Those that are gone, since they are handed out at most once.
  local once, heads, once_records = {}, {}, {}
  local are_many = #ids >= MANY and not is_once
  if are_many then members, fields, size = { 0, LONG_ENTRY }, { LONG_ENTRY, '' }, 2 end
  for i = 1, #ids do
    local id, envelope = ids[i], envelopes[i]
    local _, delivery, attempt, last_due, mark, crashes = parse_record(records[i])
    if not envelope then
      orphans[#orphans + 1] = id
      repaired = repaired + 1
    elseif dues or not conclude(id, mark, records[i]) then
      number = number + 1
      local is_spent = dues or crashes >= ALONE or attempt == 0
      local spent = is_spent and attempt + 1 or attempt
      local due = dues and dues[i] or last_due or now
      if has_keys then
        note_delivery(id, dues)
        -- The head of an ordered key may have waited for longer, under another score.
        if dues and order_mode ~= 'limits' then due = last_due or due end
      end
      local numbers = numbers_of(number, delivery + 1, spent, due)
      local record = token_start .. numbers
      if is_once then
        once[#once + 1] = id
        if keeps then heads[#once], once_records[#once] = head_of('d', nil, session), record end
      else
        members[size + 1], members[size + 2] = deadline, id
        fields[size + 1], fields[size + 2] = id, dues and record or string.format('%s %d', record, crashes + 1)
        size = size + 2
      end
      announce(id, envelope, numbers, dues and 0 or crashes + 1)
    end
  end
  if #once > 0 then
    finish(once, heads, once_records)
    if order_mode then leave(once) end
  elseif size > 0 then
    redis.call('ZADD', inflight, unpack(members))
    redis.call('HSET', deliveries, unpack(fields))
  end
  if are_many then
    redis.call('ZREM', inflight, LONG_ENTRY)
    redis.call('HDEL', deliveries, LONG_ENTRY)
  end
  forget(orphans)
  if order_mode and #orphans > 0 then leave(orphans) end
end

-- @include claim-repeat

local rounds = 0
local function proceed()
  rounds = rounds + 1
  return taken < most and bytes < max_bytes and rounds <= ROUNDS
end

-- How many of the ids to take, by the size of their messages; one at least. If no large message was ever published,
-- their sizes need not be asked for.
local function fitting(ids)
  if not state[5] and max_bytes == MAX_BYTES then return #ids end
  local total = bytes
  for i = 1, #ids do
    total = total + redis.call('HSTRLEN', messages, ids[i])
    if total > max_bytes and taken + i > 1 then return math.max(i - 1, taken == 0 and 1 or 0) end
  end
  return #ids
end

-- Redis 6.2 lets a script add nothing while its memory is full, unless it has removed something first.
redis.call('HDEL', meta, '')
if is_repeat and highest > known then
  if is_once then hand_again() else repeat_deliveries() end
elseif state[3] then
  reply[2] = 2
elseif held_until then
  reply[2] = 3
elseif not is_repeat then
  if order_mode == 'limits' and not stored_mode then redis.call('HSET', places, 'mode', order_mode) end
  if has_keys then wake_keys(redis.call('ZRANGEBYSCORE', resting, '-inf', begins_at, 'LIMIT', 0, CHUNK_OF_KEYS), most) end
  while rounds < ENDED_ROUNDS and proceed() do
    local limit = math.min(CHUNK, most - taken)
    local ids = redis.call('ZRANGEBYSCORE', inflight, '-inf', now, 'LIMIT', held, limit)
    local count = fitting(ids)
    for i = count + 1, #ids do ids[i] = nil end
    if count > 0 then ids = admitted(ids) end
    if #ids > 0 then
      redis.call('ZREM', inflight, unpack(ids))
      local waiting = redis.call('ZMSCORE', scheduled, unpack(ids))
      local ended = {}
      for i = 1, #ids do
        -- A message is in both sets only after damage from outside; it waits, and must not be early.
        if waiting[i] then repaired = repaired + 1 else ended[#ended + 1] = ids[i] end
      end
      if #ended > 0 then deliver(ended) end
    end
    if count < limit then break end
  end
  while proceed() do
    local limit = math.min(CHUNK, most - taken)
    local head = redis.call('ZRANGEBYSCORE', scheduled, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
    if #head == 0 then break end
    local ids, dues = {}, {}
    for i = 1, #head / 2 do ids[i], dues[i] = head[2 * i - 1], head[2 * i] end
    -- They are sorted: mostly this is the only look at them.
    for i = 1, #dues do
      if tonumber(dues[i]) >= 0 then break end
      dues[i] = 0
    end
    local count = fitting(ids)
    for i = count + 1, #ids do ids[i] = nil end
    if count == 0 then break end
    redis.call('ZREMRANGEBYRANK', scheduled, 0, count - 1)
    if has_keys then ids, dues = permitted(ids, dues) end
    if #ids > 0 then deliver(ids, dues) end
    if count < limit then break end
  end
end

-- @include claim-mending
if look_at_held_back then look_at_held_back() end
-- @include claim-relook
if look_anew then look_anew() end
if has_keys and not is_repeat then store_states() end

-- A lease that ends later than any lease can was not given here, and nobody will settle its delivery: so it ends now.
local last = taken < most and redis.call('ZREVRANGE', inflight, 0, 0, 'WITHSCORES') or {}
if last[2] and tonumber(last[2]) > now + LONGEST then
  redis.call('ZADD', inflight, string.format('%d', now), last[1])
  repaired = repaired + 1
end

if is_once and taken > 0 and not is_repeat then keep_handed() end
if not is_repeat then
  local this_claim = string.format('%s %d %d', epoch, order, number)
  if granted_at > 0 then this_claim = string.format('%s %d %d', this_claim, granted_at, begins_at) end
  if asked[1] and asked[1] ~= limits_before then
    redis.call('HSET', meta, 'claim', this_claim, 'finished', asked[1])
  else
    redis.call('HSET', meta, 'claim', this_claim)
  end
end
if number > number_before then add('delivered', number - number_before) end
if repaired > 0 then add('repaired', repaired) end
reply[3] = number
reply[5] = repaired
reply[6] = table.concat(announced, ',')
if held > 0 or #suspects > 0 then
  table.insert(suspects, 1, held > 0 and '1' or '0')
  reply[7] = table.concat(suspects, ',')
end

local next_due = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')[2]
-- What is held back is claimed when there is room.
local is_all_held = held > 0 and taken < most
local next_lease = redis.call('ZRANGEBYSCORE', inflight, is_all_held and '(' .. now or '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
next_due, next_lease = next_due and to_time(next_due), next_lease and to_time(next_lease)
local next_at = math.min(next_due or math.huge, next_lease or math.huge)
if has_keys then next_at = math.min(next_at, next_rest(next_at == math.huge) or math.huge) end
if relook then next_at = math.min(next_at, now) end
if next_at == math.huge then next_at = order_mode and redis.call('ZCARD', blocked) > 0 and now + TRY_AGAIN or -1 end
reply[4] = reply[2] == 3 and held_until or next_at
if is_repeat then granted_at, begins_at = granted_before or 0, began_before or 0 end
if granted_at > 0 or counts_due == '1' then
  -- Suspects that are held back wait for room, not for a permit.
  local still_due = counts_due == '1'
    and redis.call('ZCOUNT', scheduled, '-inf', now) + math.max(0, redis.call('ZCOUNT', inflight, '-inf', now) - held)
  local starts_at = granted_at > 0 and begins_at or 0
  reply[8] = string.format('%d,%d,%d,%d', granted_at, still_due or -1, starts_at, starts_at - now_up)
end
if order_mode == 'limits' and not is_limited and not is_repeat and redis.call('ZCARD', blocked) == 0 then
  local knows = redis.call('ZCARD', running) + redis.call('HLEN', rates) + redis.call('ZCARD', resting)
  if knows == 0 then redis.call('HDEL', places, 'mode', 'terms') end
end
return reply
