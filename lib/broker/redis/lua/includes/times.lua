-- Times are numbers of milliseconds from 0 to this, the latest that clients can hold. Other programs may have written any
-- score, infinite ones and parts of a millisecond among them.
local MAX_TIME = 8640000000000000

-- A score as a whole number of milliseconds within the bounds.
local function to_time(score)
  return math.floor(math.max(0, math.min(tonumber(score), MAX_TIME)))
end

-- Whether an argument is a length of time. What is none is refused before anything is written: NaN has a place in no set.
local function is_length(value)
  return value ~= nil and value >= 0 and value <= MAX_TIME
end
