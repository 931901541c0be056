-- Hands messages to the owner of the partition: those whose lease ended first, then those that are due.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET, owner STRING,
--       meta HASH, blocked ZSET, queues ZSET, places HASH, running ZSET, rates HASH, rated ZSET, resting ZSET
-- ARGV  claimant (as it is stored as the owner: its epoch, a space, its session), sequence (of the claim),
--       delivered (the number of the claimant's latest delivery), max (0: it tells what is next), lease (ms), room (for suspects),
--       whole_room (what it is while no suspect runs), terms ('' for a topic without order or limits; else
--       '<order, - for none> <most in flight of a key> <most of a key within the window> <window, ms> <1 to count what is due>', 0 for no limit)
-- Reply {now_us, status, delivered, next, repaired, records, suspects, granted, then 2 a message: stored id, envelope},
--       or {now_us, 0, the owner that is stored, '' for none} if the claimant is not the owner, or has claimed since
--       status   1 claimed, 2 paused, 3 held: nothing of the topic begins before next
--       next     earliest due time or end of a lease, epoch ms, or when a limit allows more; -1 if nothing waits
--       records  4 numbers a message with spaces: number of the delivery, delivery, attempt, due ms; commas between messages
--       suspects '' mostly; else with commas 1 if some were held back, or 0, and 2 numbers for each one that takes room: its
--                place among the messages, from 0, and the room it takes
--       granted  '' mostly; else with a comma the time under which the deliveries stand in the logs of their keys, ms or 0, and how many
--                messages are still due, -1 if that was not asked for
-- Cost  O(max log size), max <= 200; stops early once the envelopes add up to 1 MiB
--
-- A delivery's token is the claimant's epoch, a dot and the number of the delivery. `claim` of meta is the latest claim:
-- '<epoch> <sequence> <number of its latest delivery>'.
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
-- they are, whatever its max. A run that comes after a later claim changes nothing.

-- @include now
local most, lease_ms, order, known = tonumber(max), tonumber(lease), tonumber(sequence), tonumber(delivered)
local free, whole = tonumber(room), tonumber(whole_room)
-- @include times
-- @include record
-- @include forget
-- @include count
-- @include envelopes
-- @include rate-log
local order_of_topic, key_max, key_rate, key_window, counts_due = string.match(terms, '^(%S+) (%d+) (%d+) (%d+) (%d)$')
key_max, key_rate, key_window = tonumber(key_max) or 0, tonumber(key_rate) or 0, tonumber(key_window) or 0
local is_limited = key_max > 0 or key_rate > 0
local is_blocking = redis.call('ZCARD', blocked) > 0
local stored_mode = redis.call('HGET', places, 'mode')
-- If something is blocked, there was an order, or a limit.
local order_mode = stored_mode
if not order_mode and (is_blocking or is_limited) then
  order_mode = (order_of_topic or '-') ~= '-' and order_of_topic or 'limits'
end
-- @include heads
-- @include queues
-- @include order
-- @include limits

local CHUNK, ROUNDS, ENDED_ROUNDS, MAX_BYTES = 100, 12, 6, 1048576
-- From how many crashes on a message is a suspect, and a suspect runs alone.
local SUSPECT, ALONE = 2, 3
-- At how many keys that have rested long enough a claim looks.
local CHUNK_OF_KEYS = 50
-- How many of the blocked messages a claim tries, and after how many ms to try more if nothing else waits: in an ordered topic all wait
-- behind dead letters then.
local TRIED, TRY_AGAIN = 3, order_mode == 'limits' and 30000 or 300000

local has_keys = order_mode
  and (is_limited or redis.call('HLEN', rates) > 0 or redis.call('ZCARD', resting) > 0)
-- @include key-limits

local stored_owner = redis.call('GET', owner) or ''
local epoch = string.match(claimant, '^([^ ]+) .')
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

local state = redis.call('HMGET', meta, 'paused', 'claim', 'largest', 'held')
local held_until = tonumber(state[4])
if held_until and (held_until <= now or held_until > now + LONGEST) then held_until = nil end

-- The sequence of the latest claim in this epoch and the number of its latest delivery; 0 and 0 if there was none, or if what is
-- stored of it is damaged.
local function latest_claim()
  local by, nth, latest_delivery = string.match(state[2] or '', '^([^ ]+) (%d+) (%d+)$')
  if by ~= epoch then return 0, 0 end
  nth, latest_delivery = tonumber(nth), tonumber(latest_delivery)
  if nth > MAX_TIME or latest_delivery > MAX_TIME then return 0, 0 end
  return nth, latest_delivery
end

local latest, highest = latest_claim()
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
-- Of the latest delivery. A number is never used again, whether the owner or this partition knows of it.
local number_before = math.max(highest, known)
local number = number_before
local token_start = epoch .. '.'
local reply = { now_us, 1, number, -1, 0, '', '', '' }
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
  reply[2 * taken + 7], reply[2 * taken + 8] = id, envelope
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
local function conclude(id, mark)
  if mark == 'c' then
    forget({ id })
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
  local are_many = #ids >= MANY
  if are_many then members, fields, size = { 0, LONG_ENTRY }, { LONG_ENTRY, '' }, 2 end
  for i = 1, #ids do
    local id, envelope = ids[i], envelopes[i]
    local _, delivery, attempt, last_due, mark, crashes = parse_record(records[i])
    if not envelope then
      orphans[#orphans + 1] = id
      repaired = repaired + 1
    elseif dues or not conclude(id, mark) then
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
      members[size + 1], members[size + 2] = deadline, id
      fields[size + 1], fields[size + 2] = id, dues and record or string.format('%s %d', record, crashes + 1)
      size = size + 2
      announce(id, envelope, numbers, dues and 0 or crashes + 1)
    end
  end
  if size > 0 then
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

-- The number of a delivery of this epoch; nil if the token is of another.
local function number_of(token)
  return string.sub(token, 1, #token_start) == token_start and tonumber(string.sub(token, #token_start + 1)) or nil
end

-- Answers what the first run delivered, with new leases. What was cancelled or replaced meanwhile is left as it is, since the
-- first run's reply may have arrived after all, and its handler may run: it ends with its delivery or its lease.
local function repeat_deliveries()
  -- The lost reply's deliveries have the latest leases, unless the outage was long; what is not found here is
  -- redelivered when its lease ends.
  local latest_leases = redis.call('ZREVRANGE', inflight, 0, 999)
  for first = 1, #latest_leases, CHUNK do
    local ids = {}
    for i = first, math.min(first + CHUNK - 1, #latest_leases) do ids[#ids + 1] = latest_leases[i] end
    local records = redis.call('HMGET', deliveries, unpack(ids))
    for i = 1, #ids do
      local token, delivery, attempt, due, mark, crashes = parse_record(records[i])
      local nth = mark == '' and number_of(token)
      local envelope = nth and nth > known and redis.call('HGET', messages, ids[i])
      if envelope then
        redis.call('ZADD', inflight, deadline, ids[i])
        announce(ids[i], envelope, numbers_of(nth, delivery, attempt, due), crashes)
      end
    end
  end
end

local rounds = 0
local function proceed()
  rounds = rounds + 1
  return taken < most and bytes < MAX_BYTES and rounds <= ROUNDS
end

-- How many of the ids to take, by the size of their messages; one at least. If no large message was ever published,
-- their sizes need not be asked for.
local function fitting(ids)
  if not state[3] then return #ids end
  local total = bytes
  for i = 1, #ids do
    total = total + redis.call('HSTRLEN', messages, ids[i])
    if total > MAX_BYTES and taken + i > 1 then return math.max(i - 1, taken == 0 and 1 or 0) end
  end
  return #ids
end

-- Redis 6.2 lets a script add nothing while its memory is full, unless it has removed something first.
redis.call('HDEL', meta, '')
if is_repeat and highest > known then
  repeat_deliveries()
elseif state[1] then
  reply[2] = 2
elseif held_until then
  reply[2] = 3
elseif not is_repeat then
  if order_mode == 'limits' and not stored_mode then redis.call('HSET', places, 'mode', order_mode) end
  if has_keys then wake_keys(redis.call('ZRANGEBYSCORE', resting, '-inf', now, 'LIMIT', 0, CHUNK_OF_KEYS), most) end
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

-- Ranges of bytes have no meaning unless all scores are the same. Another program's score is at one of the ends.
local function mend_score(range)
  local queued, score = unpack(redis.call(range, queues, 0, 0, 'WITHSCORES'))
  if score and tonumber(score) ~= 0 then
    redis.call('ZADD', queues, 0, queued)
    repaired = repaired + 1
  end
end

-- Whether a blocked message has its place in the queue of its key, behind a head. Without a head, the first one of the queue becomes it.
local function is_in_line(id, due)
  local nth = place_of(id)
  if not nth or not redis.call('ZSCORE', queues, in_queue(id, due, nth)) then return false end
  local key = key_of(id)
  local head = redis.call('HGET', places, head_field(key))
  if head and leads(head, key) then return true end
  repaired = repaired + 1
  return promote(key) ~= nil
end

-- Another program may have removed a head, or a place in a queue. That is found by trying a few of those that are blocked.
local function try_blocked()
  if not stored_mode then redis.call('HSET', places, 'mode', order_mode) end
  -- Redis gives a script the same random numbers each time.
  local any = now_us % redis.call('ZCARD', blocked)
  local ids = redis.call('ZRANGE', blocked, any, any + TRIED - 1)
  for i = 1, #ids do
    local id = ids[i]
    -- The one before may have made it a head.
    local score = redis.call('ZSCORE', blocked, id)
    if score and not is_in_line(id, to_time(score)) then
      redis.call('ZREM', blocked, id)
      local _, delivered = parse_record(redis.call('HGET', deliveries, id))
      -- What is no message, or in another set as well, was put here by another program.
      if has_envelope(id) and not leads(id, key_of(id)) then line_up(id, to_time(score), delivered) end
      repaired = repaired + 1
    end
  end
end

-- A key may go on before its time if a limit has changed. That is found by trying a few of those that rest.
local function try_resting()
  local count = redis.call('ZCARD', resting)
  local first = count > 0 and now_us % count or 0
  wake_keys(redis.call('ZRANGE', resting, first, first + (is_limited and TRIED or CHUNK_OF_KEYS) - 1), most - taken)
end

-- What is parked and may begin, since a limit has changed or another program has written, is found in the same way; all of it, chunk by
-- chunk, if there are no limits any more.
local function try_parked()
  local first = is_limited and now_us % redis.call('ZCARD', blocked) or 0
  local ids = redis.call('ZRANGE', blocked, first, first + (is_limited and TRIED or CHUNK) - 1)
  if has_keys then load_states(ids) end
  for i = 1, #ids do
    local id = ids[i]
    -- The one before may have taken it back.
    local score = redis.call('ZSCORE', blocked, id)
    if score and not redis.call('ZSCORE', queues, in_queue(id, to_time(score), 0)) then
      redis.call('ZREM', blocked, id)
      -- What is no message, or in another set as well, was put here by another program.
      local is_elsewhere = redis.call('ZSCORE', inflight, id) or redis.call('ZSCORE', dead, id)
      if has_envelope(id) and not is_elsewhere then line_up(id, to_time(score)) end
      repaired = repaired + 1
    elseif score and (not has_keys or may_begin_of(id)) then
      take_back(key_of(id), 1)
    end
  end
end

-- A delivery that another program has removed counts no more against what may be in flight of its key.
local function try_running()
  local count = redis.call('ZCARD', running)
  local entries = count > 0 and redis.call('ZRANGE', running, now_us % count, now_us % count + TRIED - 1) or {}
  for i = 1, #entries do
    local key, id = string.match(entries[i], '^(%Z*)%z(.*)$')
    if not id or not redis.call('ZSCORE', inflight, id) then
      redis.call('ZREM', running, entries[i])
      if key then take_back(key, 1) end
      repaired = repaired + 1
    end
  end
end

if taken < most and not is_repeat and reply[2] == 1 then
  if has_keys then try_resting() end
  if key_max > 0 and order_mode == 'limits' then try_running() end
  if redis.call('ZCARD', blocked) > 0 then
    mend_score('ZRANGE')
    mend_score('ZREVRANGE')
    if order_mode == 'limits' then try_parked() else try_blocked() end
  end
end
if has_keys and not is_repeat then store_states() end

-- A lease that ends later than any lease can was not given here, and nobody will settle its delivery: so it ends now.
local last = taken < most and redis.call('ZREVRANGE', inflight, 0, 0, 'WITHSCORES') or {}
if last[2] and tonumber(last[2]) > now + LONGEST then
  redis.call('ZADD', inflight, string.format('%d', now), last[1])
  repaired = repaired + 1
end

if not is_repeat then redis.call('HSET', meta, 'claim', string.format('%s %d %d', epoch, order, number)) end
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
if next_at == math.huge then next_at = order_mode and redis.call('ZCARD', blocked) > 0 and now + TRY_AGAIN or -1 end
reply[4] = reply[2] == 3 and held_until or next_at
if granted_at > 0 or counts_due == '1' then
  -- Suspects that are held back wait for room, not for a permit.
  local still_due = counts_due == '1'
    and redis.call('ZCOUNT', scheduled, '-inf', now) + math.max(0, redis.call('ZCOUNT', inflight, '-inf', now) - held)
  reply[8] = string.format('%d,%d', granted_at, still_due or -1)
end
if order_mode == 'limits' and not is_limited and not is_repeat and redis.call('ZCARD', blocked) == 0 then
  local knows = redis.call('ZCARD', running) + redis.call('HLEN', rates) + redis.call('ZCARD', resting)
  if knows == 0 then redis.call('HDEL', places, 'mode') end
end
return reply
