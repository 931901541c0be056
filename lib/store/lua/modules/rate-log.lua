-- A log has the times until which granted deliveries can begin, as '<ms> <count> <ms> <count> …', the earliest first. It stays short: if more can
-- be granted within the window of a limit than MOST_TIMES, times are rounded up.
-- @exports read_log, add_to_log, format_log
-- @use now (now)

local MOST_TIMES = 128
-- Furthest that a time can lie ahead: MAX_BEGIN_WINDOW and a grain. Beyond, the clock was set back.
local MOST_AHEAD = 120000

local function grain_of(max, window) return max > MOST_TIMES and math.ceil(window / MOST_TIMES) or 1 end

-- Reads the entries of a log that can count: times, counts, the sum of those that count against deliveries that begin at a time, whether the log
-- has to be stored anew, and the first time that counts, or the last one that is no later than that by more than `gather`.
local function read_log(text, max, window, begin, gather)
  local oldest, since, latest = now - window, begin - window, now + MOST_AHEAD
  local times, counts, sum, is_ahead, first, last = {}, {}, 0, false, nil, nil
  if not text or text == '' then return times, counts, sum, is_ahead, last end
  for time, count in string.gmatch(text, '(%d+) (%d+)') do
    time, count = tonumber(time), math.min(tonumber(count), max)
    if time > latest then
      time, is_ahead = begin, true
    end
    if time >= oldest and count > 0 and #times < 2 * MOST_TIMES then
      times[#times + 1], counts[#counts + 1] = time, count
      if time >= since then
        sum, first = sum + count, first or time
        if time <= first + (gather or 0) then last = time end
      end
    end
  end
  return times, counts, sum, is_ahead, last
end

-- Notes the number of granted deliveries that begin by a time. Returns the time under which that stands in the log.
local function add_to_log(times, counts, granted, max, window, by)
  local grain = grain_of(max, window)
  local time, at = math.ceil(by / grain) * grain, #times + 1
  while at > 1 and times[at - 1] >= time do at = at - 1 end
  if times[at] ~= time then
    table.insert(times, at, time)
    table.insert(counts, at, 0)
  end
  counts[at] = counts[at] + granted
  return time
end

local function format_log(times, counts)
  if #times == 1 and counts[1] > 0 then return string.format('%d %d', times[1], counts[1]) end
  local parts = {}
  for i = 1, #times do
    if counts[i] > 0 then parts[#parts + 1] = string.format('%d %d', times[i], counts[i]) end
  end
  return table.concat(parts, ' ')
end
