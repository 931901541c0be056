-- Permits a process deliveries of a topic: no more than a rate allows to begin within its window, and no more than are allowed in flight at once.
--
-- KEYS  permits STRING
-- ARGV  session, sequence (of its calls), held (permits to be in flight that it keeps), idle (those of them that no delivery uses),
--       wanted (deliveries), lease (ms, after which its permits to be in flight are over), max_rate (0 for no limit), window (ms),
--       most_in_flight (0 for no limit), patience (ms, after which it asks again in any case),
--       returned (permits of the rate that led to no handler call: '<ms> <count> …'),
--       lead (ms after which permits of a rate begin at the earliest), slack (ms for which they can begin then),
--       ahead (ms by which it should ask earlier than it can be served, to be there in time)
-- Reply {now_us, permitted, permitted_at, begins_at, begins_in, keep, wait, held, sessions}
--       permitted_at  the time under which they stand in the log, ms; to return them
--       begins_at     when permits of a rate can begin, epoch ms; 0 for at once
--       begins_in     in how many ms that is
--       keep          how many permits to be in flight it should keep, since others have too few; -1 for any
--       wait          ms from this call until it should ask again; -1 if it has what it wanted
--       held          how many permits to be in flight it has now
--       sessions      those that should ask now, with spaces
-- Roles consumer
-- Cost  O(n log n) in the number of processes that wait or have permits
--
-- `permits` is a log, see modules/rate-log.lua, and then a line for each such process, in the order in which they wait:
-- '<session> <sequence> <held> <until when they are its own, ms> <wanted> <when it is its turn, ms, 0 if it waits to be in flight>'.
-- Behind them there are lines '~<session> <when it was told that there is room for it, ms>' of those that have not come since, and
-- '=<session> <sequence> <permitted> <permitted_at> <begins_at> <keep> <wait> <until when that is kept, ms>' with the latest answers.
--
-- A process that asks early, by no more than its slack, gets the permits that come free by then, to begin at that time.
--
-- Free permits are shared among the processes whose turn it is, each getting as many as it wants if that leaves as many for the others. One
-- that waits for the rate learns when its turn is, by when permits come free; if it has not come GRACE ms later it has none. Permits to be in
-- flight are shared in the same way, and a process with more than its share while others have too few gives them back as deliveries end. One
-- that learned that there is room for it and has not come PATIENCE ms later, such as since it was killed, keeps no other waiting.
--
-- A process says what it keeps, which counts as far as its line has it. Permits beyond that, such as since the line is over or was lost, it keeps
-- only as far as the others have left them.
-- A repeated call gets the first answer, so that its permits are used, or come back, and learns what it has by now. A copy of an older call
-- is refused.

-- @use now (now_us, now, now_up)
-- @use times (MAX_TIME, LONGEST)
-- @use rate-log (read_log, add_to_log, format_log)

local GRACE, PATIENCE = 100, 500
-- Time in ms for which an answer is kept for a repeat of the call.
local KEEP_ANSWER = 60000

local nth, keeps, unused, wants, lease_ms = tonumber(sequence), tonumber(held), tonumber(idle), tonumber(wanted), tonumber(lease)
local max, window_ms, most, patience_ms = tonumber(max_rate), tonumber(window), tonumber(most_in_flight), tonumber(patience)
local lead_ms, slack_ms, ahead_ms = tonumber(lead), tonumber(slack), tonumber(ahead)
local numbers = { nth, keeps, unused, wants, lease_ms, max, window_ms, most, patience_ms, lead_ms, slack_ms, ahead_ms }
for i = 1, 12 do
  local number = numbers[i] or -1
  if not (number >= 0 and number <= MAX_TIME) then
    return redis.error_reply('REFUSED a number of a call for permits is none')
  end
end

-- A process that has asked in vain learns nothing new sooner, and asks again while its deliveries can still begin in time.
local least_wait = math.max(1, math.floor(math.min(slack_ms, GRACE) / 2))

-- Permits of a rate that are given now begin then, and count from then for those that come later.
local earliest = now_up + lead_ms
local begin = earliest

local stored = redis.call('GET', permits) or ''
local log, lines = string.match(stored, '^([%d ]*)\n(.*)$')

local times, counts, used = {}, {}, 0
if max > 0 then
  times, counts, used = read_log(log, max, window_ms, begin)
  for time, count in string.gmatch(returned, '(%d+) (%d+)') do
    time, count = tonumber(time), tonumber(count)
    for i = 1, #times do
      if times[i] == time then
        local back = math.min(count, counts[i])
        counts[i] = counts[i] - back
        if time >= begin - window_ms then used = used - back end
        break
      end
    end
  end
  local i = 1
  while used >= max and times[i] and times[i] + window_ms + 1 <= begin + slack_ms do
    if counts[i] > 0 and times[i] >= begin - window_ms then
      begin, used = times[i] + window_ms + 1, used - counts[i]
    end
    i = i + 1
  end
end

-- ── what is known of the processes ──────────────────────────────────────────────────────────────────────────────────

-- The others in their order, and how many of them come before this one: all, if it had permits when it last asked.
local others, before, is_turn, turn_before = {}, nil, false, 0
local told_at, answers, is_repeat, own_has = {}, {}, false, nil
for line in string.gmatch(lines or '', '[^\n]+') do
  local told, since = string.match(line, '^~(%S+) (%d+)$')
  if told and told ~= session then told_at[told] = math.min(tonumber(since), now) end
  local asked, nth_of, answer, ends = string.match(line, '^=(%S+) (%d+) (%d+ %d+ %d+ %-?%d+ %-?%d+) (%d+)$')
  if asked == session and tonumber(nth_of) > nth then
    return redis.error_reply('OUTDATED a later call of the same process was served')
  elseif asked == session and tonumber(nth_of) == nth then
    local permitted, at, begins, kept, waits = string.match(answer, '^(%d+) (%d+) (%d+) (%-?%d+) (%-?%d+)$')
    begins = tonumber(begins)
    local still_has = own_has or 0
    return { now_us, tonumber(permitted), tonumber(at), begins, begins - now_up, tonumber(kept), tonumber(waits), still_has, '' }
  elseif asked and asked ~= session and tonumber(ends) > now and tonumber(ends) <= now + KEEP_ANSWER then
    answers[#answers + 1] = line
  end
  local name, number, has, ends_at, more, at = string.match(line, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  number, has, ends_at, more, at = tonumber(number), tonumber(has), tonumber(ends_at), tonumber(more), tonumber(at)
  local is_alive = name and ends_at > now and ends_at <= now + LONGEST and math.max(number, has, more, at) <= MAX_TIME
  if is_alive and name == session then
    if number > nth then return redis.error_reply('OUTDATED a later call of the same process was served') end
    is_repeat, own_has = number == nth, has
    before, is_turn = has == 0 and #others or nil, more > 0 and at > 0 and at <= begin
    turn_before = at > begin and at or 0
  elseif is_alive then
    -- Its turn is over.
    if at > 0 and now > at + GRACE then more, at = 0, 0 end
    if has > 0 or more > 0 then
      others[#others + 1] = { name = name, number = number, has = has, ends_at = ends_at, wants = more, at = at }
    end
  end
end
if is_repeat then return redis.error_reply('OUTDATED the answer to this call is not kept any more') end
before = before or #others

-- Shares an amount among wishes. Returns the most that each gets, and how many are left once all have what they want.
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

local free, by_rate = math.huge, wants
local left_of_rate = math.huge
if max > 0 then
  free = math.max(0, max - used)
  local wishes = {}
  for i = 1, #others do
    if others[i].at > 0 and others[i].at <= begin then wishes[#wishes + 1] = others[i].wants end
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
  local left, uses = most, keeps - unused
  for i = 1, #others do left = left - others[i].has end
  keeps = math.min(keeps, math.max(own_has or 0, left))
  unused = math.max(0, keeps - uses)
  local used, wishes, rivals, ahead = keeps, { keeps - unused + wants }, 0, 0
  for i = 1, #others do
    local other = others[i]
    local waits = other.wants > 0 and other.at == 0
    used = used + other.has
    wishes[#wishes + 1] = other.has + (waits and other.wants or 0)
    if waits then rivals = rivals + 1 end
    local has_come = not told_at[other.name] or now <= told_at[other.name] + PATIENCE
    if waits and other.has == 0 and i <= before and has_come then ahead = ahead + 1 end
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
  -- A limit that was lowered holds as soon as deliveries end.
  if used > most then
    local rest = math.max(0, most - (used - keeps))
    keep = keep < 0 and rest or math.min(keep, rest)
  end
  by_flight = math.min(wants, unused + room)
end

-- ── what it gets ────────────────────────────────────────────────────────────────────────────────────────────────────

local permitted = math.min(by_rate, by_flight)
local has = most > 0 and keeps + math.max(0, permitted - unused) or 0
local still_wants = wants - permitted
local permitted_at, begins_at = 0, max > 0 and begin or 0
if max > 0 and permitted > 0 then permitted_at = add_to_log(times, counts, permitted, max, window_ms, begin + slack_ms) end

-- Returns when the given number of deliveries can have begun from now on, if all permits of the rate are taken as soon as they come free.
local function time_of_free(count)
  local sum, total = 0, 0
  local counted = begin - window_ms
  for i = 1, #times do
    if times[i] >= counted then total = total + counts[i] end
  end
  -- All are kept for others whose turn it is.
  if total == 0 then return begin + GRACE end
  local rounds = math.floor((count - 1) / total)
  for i = 1, #times do
    if times[i] >= counted then sum = sum + counts[i] end
    if sum >= count - rounds * total then return times[i] + (rounds + 1) * (window_ms + 1) end
  end
end

local wait, turn = -1, 0
if still_wants > 0 then
  wait = patience_ms
  if by_rate <= by_flight then
    local waiting = 0
    for i = 1, #others do
      if others[i].at > begin then waiting = waiting + 1 end
    end
    turn = time_of_free(waiting + 1)
    -- A process that asks before its turn keeps it.
    if permitted == 0 and turn_before > 0 then turn = math.min(turn, turn_before) end
    wait = math.min(wait, math.max(least_wait, turn - earliest - ahead_ms))
  else
    for i = 1, #others do
      if others[i].has > 0 then wait = math.min(wait, math.max(1, others[i].ends_at - now + 1)) end
    end
  end
end

-- Tells other processes to ask: permits are left for those that wait, or this one has too few since others have too many.
if left_of_rate < math.huge then
  for i = 1, #others do
    if others[i].at > begin and left_of_rate >= 1 then
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
      -- A permit offered in vain is offered to the next one, too.
      if not told_at[other.name] or now <= told_at[other.name] + PATIENCE then room = room - 1 end
      told_at[other.name] = told_at[other.name] or now
      if still_wants > 0 and turn == 0 and now <= told_at[other.name] + PATIENCE then
        wait = math.min(wait, told_at[other.name] + PATIENCE + 1 - now)
      end
      tell(other)
    elseif lacks and other.has > math.floor(share) then
      tell(other)
    end
  end
end

-- ── what is stored ──────────────────────────────────────────────────────────────────────────────────────────────────

-- The limit of this process may differ by now from the one that the log is for.
local parts = { max > 0 and format_log(times, counts) or log or '' }
local last_end = now + (max > 0 and begin - now + slack_ms + window_ms or math.max(0, redis.call('PTTL', permits)))
local function add_line(other)
  last_end = math.max(last_end, other.ends_at)
  parts[#parts + 1] =
    string.format('%s %d %d %d %d %d', other.name, other.number, other.has, other.ends_at, other.wants, other.at)
end

local own = { name = session, number = nth, has = has, ends_at = now + lease_ms, wants = still_wants, at = turn }
local place = permitted > 0 and #others or before
for i = 0, #others do
  if i > 0 then add_line(others[i]) end
  if i == place and (has > 0 or still_wants > 0) then add_line(own) end
end
for i = 1, #others do
  local since = told_at[others[i].name]
  if since then parts[#parts + 1] = string.format('~%s %d', others[i].name, since) end
end
for i = 1, #answers do parts[#parts + 1] = answers[i] end
last_end = math.max(last_end, now + KEEP_ANSWER)
parts[#parts + 1] =
  string.format('=%s %d %d %d %d %d %d %d', session, nth, permitted, permitted_at, begins_at, keep, wait, now + KEEP_ANSWER)
redis.call('SET', permits, table.concat(parts, '\n') .. '\n', 'PX', string.format('%d', last_end - now + 1000))
return { now_us, permitted, permitted_at, begins_at, begins_at - now_up, keep, wait, has, table.concat(must_ask, ' ') }
