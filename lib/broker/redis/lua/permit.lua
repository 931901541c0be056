-- Permits a process deliveries of a topic: within the window of a rate no more than may begin, and at once no more than may be in flight.
--
-- KEYS  permits STRING
-- ARGV  session, sequence (of its calls), held (permits to be in flight that it keeps), idle (those of them that no delivery uses),
--       wanted (deliveries), lease (ms, after which its permits to be in flight are over), max_rate (0 for no limit), window (ms),
--       most_in_flight (0 for no limit), patience (ms, after which it asks again in any case),
--       returned (permits of the rate that led to no handler call: '<ms> <count> …')
-- Reply {now_us, permitted, permitted_at, keep, wait, sessions}
--       permitted_at  under what time they stand in the log, ms; to return them
--       keep          how many permits to be in flight it should keep, since others have too few; -1 for any
--       wait          ms until it should ask again; -1 if it has what it wanted
--       sessions      those that should ask now, with spaces
-- Cost  O(n log n) in the number of processes that wait or have permits, O(n) in that of those that have asked within a lease
--
-- `permits` is a log, see includes/rate-log.lua, and then a line for each process that has asked within its lease:
-- '<session> <sequence> <held> <until when they are its own, ms> <wanted> <when it is its turn, ms, 0 if it waits to be in flight>'.
-- Those that wait or have permits come first, in the order in which they wait; of the others only the sequence is of use.
--
-- What comes free is shared out among those whose turn it is, each getting as many as it wants if that leaves as many for the others. Whoever
-- waits for the rate is told when it is its turn, by when permits come free; whoever has not come GRACE ms later has none. Permits to be in
-- flight are shared in the same way, and whoever has more than its share while others have too few gives them back as deliveries end.
--
-- A process says what it keeps, so a call whose reply was lost does no harm. A copy of an older call is refused.

-- @include now
-- @include times
-- @include rate-log

local GRACE = 100

local nth, keeps, unused, wants, lease_ms = tonumber(sequence), tonumber(held), tonumber(idle), tonumber(wanted), tonumber(lease)
local max, window_ms, most, patience_ms = tonumber(max_rate), tonumber(window), tonumber(most_in_flight), tonumber(patience)
for _, number in ipairs({ nth or -1, keeps or -1, unused or -1, wants or -1, lease_ms or -1, max or -1, window_ms or -1, most or -1, patience_ms or -1 }) do
  if not (number >= 0 and number <= MAX_TIME) then
    return redis.error_reply('REFUSED a number of a call for permits is none')
  end
end

local stored = redis.call('GET', permits) or ''
local log, lines = string.match(stored, '^([%d ]*)\n(.*)$')

-- ── what is known of the processes ──────────────────────────────────────────────────────────────────────────────────

-- The others that wait or have permits, in their order, and how many of them come before this one: all, if it had permits when it asked last.
local others, idlers, before, is_turn, turn_before = {}, {}, nil, false, 0
for line in string.gmatch(lines or '', '[^\n]+') do
  local name, number, has, ends_at, more, at = string.match(line, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  number, has, ends_at, more, at = tonumber(number), tonumber(has), tonumber(ends_at), tonumber(more), tonumber(at)
  local is_alive = name and ends_at > now and ends_at <= now + LONGEST and math.max(number, has, more, at) <= MAX_TIME
  if is_alive and name == session then
    if number >= nth then return redis.error_reply('OUTDATED a later call of the same process was served') end
    before, is_turn = has == 0 and #others or nil, more > 0 and at > 0 and at <= now
    turn_before = at > now and at or 0
  elseif is_alive then
    -- Its turn is over.
    if at > 0 and now > at + GRACE then more, at = 0, 0 end
    local list = (has > 0 or more > 0) and others or idlers
    list[#list + 1] = { name = name, number = number, has = has, ends_at = ends_at, wants = more, at = at }
  end
end
before = before or #others

-- Shares so many out among those who want so much: how many each gets at most, and how many are left once all have what they want.
local function share_out(amount, wishes)
  table.sort(wishes)
  local left, count = amount, #wishes
  for i = 1, #wishes do
    if wishes[i] * count > left then return left / count, 0 end
    left, count = left - wishes[i], count - 1
  end
  return math.huge, left
end

local must_ask = {}
local function tell(other) must_ask[#must_ask + 1] = other.name end

-- ── the rate ────────────────────────────────────────────────────────────────────────────────────────────────────────

local times, counts, free, by_rate = {}, {}, math.huge, wants
local left_of_rate = math.huge
if max > 0 then
  local used
  times, counts, used = read_log(log, max, window_ms)
  for time, count in string.gmatch(returned, '(%d+) (%d+)') do
    time, count = tonumber(time), tonumber(count)
    for i = 1, #times do
      if times[i] == time then
        local back = math.min(count, counts[i])
        counts[i], used = counts[i] - back, used - back
        break
      end
    end
  end
  free = math.max(0, max - used)
  local wishes = {}
  for i = 1, #others do
    if others[i].at > 0 and others[i].at <= now then wishes[#wishes + 1] = others[i].wants end
  end
  if is_turn then wishes[#wishes + 1] = wants end
  local share
  share, left_of_rate = share_out(free, wishes)
  by_rate = math.min(wants, is_turn and math.ceil(share) or left_of_rate)
  if not is_turn then left_of_rate = left_of_rate - by_rate end
end

-- ── in flight ───────────────────────────────────────────────────────────────────────────────────────────────────────

local by_flight, keep, least = wants, -1, 0
if most > 0 then
  local used, wishes, rivals, ahead = keeps, { keeps - unused + wants }, 0, 0
  for i = 1, #others do
    local other = others[i]
    local waits = other.wants > 0 and other.at == 0
    used = used + other.has
    wishes[#wishes + 1] = other.has + (waits and other.wants or 0)
    if waits then rivals = rivals + 1 end
    if waits and other.has == 0 and i <= before then ahead = ahead + 1 end
  end
  local room = math.max(0, most - used)
  if rivals > 0 then
    local share = share_out(most, wishes)
    least = math.floor(math.min(share, most))
    room = math.max(0, math.min(room - ahead, math.ceil(math.min(share, most)) - keeps))
    for i = 1, #others do
      if others[i].wants > 0 and others[i].at == 0 and others[i].has < math.max(1, least) then keep = least end
    end
  end
  by_flight = math.min(wants, unused + room)
end

-- ── what it gets ────────────────────────────────────────────────────────────────────────────────────────────────────

local permitted = math.min(by_rate, by_flight)
local has = most > 0 and keeps + math.max(0, permitted - unused) or 0
local still_wants = wants - permitted
local permitted_at = 0
if max > 0 and permitted > 0 then permitted_at = add_to_log(times, counts, permitted, max, window_ms) end

-- When so many permits of the rate will have come free from now on, if all are taken as soon as they do.
local function time_of_free(count)
  local sum, total = 0, 0
  for i = 1, #times do total = total + counts[i] end
  -- All are kept for others whose turn it is.
  if total == 0 then return now + GRACE end
  local rounds = math.floor((count - 1) / total)
  for i = 1, #times do
    sum = sum + counts[i]
    if sum >= count - rounds * total then return times[i] + (rounds + 1) * (window_ms + 1) end
  end
end

local wait, turn = -1, 0
if still_wants > 0 then
  wait = patience_ms
  if by_rate <= by_flight then
    local waiting = 0
    for i = 1, #others do
      if others[i].at > now then waiting = waiting + 1 end
    end
    turn = time_of_free(waiting + 1)
    -- Whoever asks before its turn keeps it.
    if permitted == 0 and turn_before > 0 then turn = math.min(turn, turn_before) end
    wait = math.min(wait, math.max(1, turn - now))
  else
    for i = 1, #others do
      if others[i].has > 0 then wait = math.min(wait, math.max(1, others[i].ends_at - now + 1)) end
    end
  end
end

-- Permits are left for those who wait, or this one has too few since others have too many.
if left_of_rate < math.huge then
  for i = 1, #others do
    if others[i].at > now and left_of_rate >= 1 then
      left_of_rate = left_of_rate - 1
      tell(others[i])
    end
  end
end
if most > 0 then
  local room, share = most - has, 0
  local wishes = { has + (turn == 0 and still_wants or 0) }
  for i = 1, #others do
    room = room - others[i].has
    wishes[#wishes + 1] = others[i].has + (others[i].at == 0 and others[i].wants or 0)
  end
  share = math.min(most, (share_out(most, wishes)))
  local lacks = still_wants > 0 and turn == 0 and has < math.max(1, math.floor(share))
  for i = 1, #others do
    local other = others[i]
    if other.wants > 0 and other.at == 0 and room >= 1 and other.has < math.ceil(share) then
      room = room - 1
      tell(other)
    elseif lacks and other.has > math.floor(share) then
      tell(other)
    end
  end
end

-- ── what is stored ──────────────────────────────────────────────────────────────────────────────────────────────────

-- Another limit may hold for this process by now than for those that the log is of.
local parts = { max > 0 and format_log(times, counts) or log or '' }
local last_end = now + (max > 0 and window_ms or math.max(0, redis.call('PTTL', permits)))
local function add_line(other)
  last_end = math.max(last_end, other.ends_at)
  parts[#parts + 1] =
    string.format('%s %d %d %d %d %d', other.name, other.number, other.has, other.ends_at, other.wants, other.at)
end

local own = { name = session, number = nth, has = has, ends_at = now + lease_ms, wants = still_wants, at = turn }
local place = permitted > 0 and #others or before
for i = 0, #others do
  if i > 0 then add_line(others[i]) end
  if i == place then add_line(own) end
end
for i = 1, #idlers do add_line(idlers[i]) end
redis.call('SET', permits, table.concat(parts, '\n') .. '\n', 'PX', string.format('%d', last_end - now + 1000))
return { now_us, permitted, permitted_at, keep, wait, table.concat(must_ask, ' ') }
