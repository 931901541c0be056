-- Hands messages to the owner of the partition: those whose lease ended first, then those that are due.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, errors HASH, keyed ZSET, owner STRING, meta HASH
-- ARGV  member, max, lease (ms), known_token
-- Reply {now_us, status, token, next, repaired, records, then 2 a message: stored id, envelope}
--       status   1 claimed, 2 paused, 0 not the owner (then nothing follows)
--       next     earliest due time or end of a lease, epoch ms; -1 if nothing waits
--       records  4 numbers a message with spaces: token, delivery, attempt, due ms; commas between messages
-- Cost  O(max log size), max <= 200; stops early once the envelopes add up to 1 MiB
--
-- Arguments that it cannot use, such as a lease that is not a number, are refused before anything is written.
-- May be run again with the same arguments: the deliveries that the first run made have tokens above the known one, and
-- are returned as they are.

-- @include now
local most, lease_ms, known = tonumber(max), tonumber(lease), tonumber(known_token)
-- @include times
-- @include record
-- @include forget
-- @include count
-- @include token

local CHUNK, ROUNDS, MAX_BYTES = 100, 12, 1048576
-- 10 years, the longest that can be asked for.
local MAX_LEASE = 315576000000

if redis.call('GET', owner) ~= member then return { now_us, 0 } end
if not (lease_ms and lease_ms >= 0 and lease_ms <= MAX_TIME) then
  return redis.error_reply('REFUSED the lease is no number of milliseconds: ' .. lease)
end

local state = redis.call('HMGET', meta, 'paused', 'delivered', 'largest')
-- As includes/types.lua, without a function for each. The type of `inflight` shows before the first write.
redis.call('ZCARD', scheduled)
redis.call('ZCARD', keyed)
redis.call('HLEN', messages)
redis.call('HLEN', deliveries)
redis.call('HLEN', errors)
-- Never below what the owner knows: receipts must not fit a second time.
local token = math.max(highest_token(state[2]), known)
local reply = { now_us, 1, token, -1, 0, '' }
local announced = {}
local taken, bytes, repaired = 0, 0, 0
-- As text, since Redis turns a number into one with 17 digits, which takes long.
local deadline = string.format('%d', now + lease_ms)

local function announce(id, envelope, record)
  taken = taken + 1
  announced[taken] = record
  reply[2 * taken + 5], reply[2 * taken + 6] = id, envelope
  bytes = bytes + #envelope
end

-- Ends what was cancelled while in flight, or schedules what was replaced, once nobody will settle its delivery any more. The
-- id is in neither set. Answers whether the message was one of those.
local function conclude(id, delivery, mark)
  if mark == 'c' then
    forget({ id })
    add('cancelled', 1)
    return true
  end
  local due = replaced_until(mark)
  if not due then return false end
  redis.call('HDEL', errors, id)
  redis.call('ZADD', scheduled, due, id)
  redis.call('HSET', deliveries, id, format_record(0, delivery, 0, due))
  return true
end

-- Redis keeps what is small, by default up to 128 entries of 64 bytes, as a list that it searches from its beginning, which
-- takes most of the time of a claim that fills it. What has ever held a longer entry is no such list any more.
local MANY, LONG_ENTRY = 24, string.rep('\0', 65)

-- Makes deliveries of the given ids, which are in neither set any more. `dues`, as text, is nil for those whose lease ended.
local function deliver(ids, dues)
  local envelopes = redis.call('HMGET', messages, unpack(ids))
  -- Mostly all records are of messages in flight, so that these ids have none.
  local has_records = redis.call('HLEN', deliveries) > redis.call('ZCARD', inflight)
  local records = has_records and redis.call('HMGET', deliveries, unpack(ids)) or {}
  local members, fields, size, orphans = {}, {}, 0, {}
  local are_many = #ids >= MANY
  if are_many then members, fields, size = { 0, LONG_ENTRY }, { LONG_ENTRY, '' }, 2 end
  for i = 1, #ids do
    local id, envelope = ids[i], envelopes[i]
    local _, delivery, attempt, last_due, mark = parse_record(records[i])
    if not envelope then
      orphans[#orphans + 1] = id
      repaired = repaired + 1
    elseif dues or not conclude(id, delivery, mark) then
      token = token + 1
      local record = format_record(token, delivery + 1, attempt + 1, dues and dues[i] or last_due or now)
      members[size + 1], members[size + 2] = deadline, id
      fields[size + 1], fields[size + 2] = id, record
      size = size + 2
      announce(id, envelope, record)
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
end

local function repeat_lost()
  -- The lost reply's deliveries have the latest leases, unless the outage was long; what is not found here is
  -- redelivered when its lease ends.
  local latest = redis.call('ZREVRANGE', inflight, 0, 999)
  for first = 1, #latest, CHUNK do
    local ids = {}
    for i = first, math.min(first + CHUNK - 1, #latest) do ids[#ids + 1] = latest[i] end
    local records = redis.call('HMGET', deliveries, unpack(ids))
    for i = 1, #ids do
      if taken < most then
        local at, delivery, attempt, due, mark = parse_record(records[i])
        local envelope = at > known and redis.call('HGET', messages, ids[i])
        if envelope then
          redis.call('ZREM', inflight, ids[i])
          if not conclude(ids[i], delivery, mark) then
            redis.call('ZADD', inflight, deadline, ids[i])
            announce(ids[i], envelope, format_record(at, delivery, attempt, due))
          end
        end
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

if token > known then
  repeat_lost()
elseif state[1] then
  reply[2] = 2
else
  while proceed() do
    local limit = math.min(CHUNK, most - taken)
    local ids = redis.call('ZRANGEBYSCORE', inflight, '-inf', now, 'LIMIT', 0, limit)
    local count = fitting(ids)
    for i = count + 1, #ids do ids[i] = nil end
    if count > 0 then
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
    deliver(ids, dues)
    if count < limit then break end
  end
end

-- A lease that ends later than any lease can was not given here, and nobody will settle its delivery: so it ends now.
local last = taken < most and redis.call('ZREVRANGE', inflight, 0, 0, 'WITHSCORES') or {}
if last[2] and tonumber(last[2]) > now + MAX_LEASE then
  redis.call('ZADD', inflight, string.format('%d', now), last[1])
  repaired = repaired + 1
end

local highest = string.format('%d', token)
if token > 0 and state[2] ~= highest then redis.call('HSET', meta, 'delivered', highest) end
if repaired > 0 then add('repaired', repaired) end
reply[3] = token
reply[5] = repaired
reply[6] = table.concat(announced, ',')

local next_due = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')[2]
local next_lease = redis.call('ZRANGE', inflight, 0, 0, 'WITHSCORES')[2]
next_due, next_lease = next_due and to_time(next_due), next_lease and to_time(next_lease)
if reply[2] == 2 then
  next_due, next_lease = nil, nil
end
reply[4] = math.min(next_due or math.huge, next_lease or math.huge)
if reply[4] == math.huge then reply[4] = -1 end
return reply
