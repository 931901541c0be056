-- Times are numbers of milliseconds from 0 to this, the latest that clients can hold. Other arguments are refused
-- before anything is written, since NaN has a place in no set. Scores may be any number that another program has written,
-- infinite or with parts of a millisecond.
-- @exports MAX_TIME, LONGEST, to_time

local MAX_TIME = 8640000000000000
-- 10 years, the longest that can be asked for: a time further ahead was not written here.
local LONGEST = 315576000000

-- Converts a score to a whole number of milliseconds within the bounds.
local function to_time(score)
  return math.floor(math.max(0, math.min(tonumber(score), MAX_TIME)))
end
