-- Needs: now, now_up.
-- When deliveries were granted, as '<ms> <count> <ms> <count> …', the earliest first. It stays short: if more may be granted within the
-- window of a limit than MOST_TIMES, times are rounded up.
local MOST_TIMES = 128

local function grain_of(max, window) return max > MOST_TIMES and math.ceil(window / MOST_TIMES) or 1 end

-- What a log has within the window: times, counts, their sum, and whether it has to be stored anew, since the clock was set back: a time
-- that lies ahead is one of now.
local function read_log(text, max, window)
  local since, latest = now - window, now_up + grain_of(max, window)
  local times, counts, sum, is_ahead = {}, {}, 0, false
  for time, count in string.gmatch(text or '', '(%d+) (%d+)') do
    time, count = tonumber(time), math.min(tonumber(count), max)
    if time > latest then
      time, is_ahead = latest, true
    end
    if time >= since and count > 0 and #times < 2 * MOST_TIMES then
      times[#times + 1], counts[#counts + 1] = time, count
      sum = sum + count
    end
  end
  return times, counts, sum, is_ahead
end

-- Notes that so many were granted now. Answers the time under which that stands in the log.
local function add_to_log(times, counts, granted, max, window)
  local grain = grain_of(max, window)
  local time = math.ceil(now_up / grain) * grain
  if times[#times] ~= time then times[#times + 1], counts[#times + 1] = time, 0 end
  counts[#times] = counts[#times] + granted
  return time
end

local function format_log(times, counts)
  local parts = {}
  for i = 1, #times do
    if counts[i] > 0 then parts[#parts + 1] = string.format('%d %d', times[i], counts[i]) end
  end
  return table.concat(parts, ' ')
end
