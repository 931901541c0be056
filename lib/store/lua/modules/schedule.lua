-- A record of `schedules` is a line with its state, a line break, and the rest, which only clients read. Its state is compared
-- as it is: each write gives it another one.
-- @exports schedule_parts, is_score
-- @use times (MAX_TIME)

local function schedule_parts(record)
  if not record then return nil, '' end
  local state, rest = string.match(record, '^([^\n]*)\n(.*)$')
  return state or record, rest or ''
end

-- Whether a text is the next time of a schedule, as a score: epoch ms, or inf for never. Anything else is refused before anything is written.
local function is_score(text)
  local time = tonumber(text)
  return text == 'inf' or time and time >= 0 and time <= MAX_TIME
end
