-- Counters of a partition. One that is not a number any more, or is too large, begins anew: a script must not fail at its end.
-- @exports add, counted
-- @needs meta
-- @use times (MAX_TIME)

-- Adds to a counter, and returns its new value.
local function add(counter, n)
  -- One is given as text, since Redis formats a number with 17 digits, which takes long.
  local result = redis.pcall('HINCRBY', meta, counter, n == 1 and '1' or n)
  if type(result) ~= 'table' then return result end
  redis.call('HSET', meta, counter, n)
  return n
end

-- Reads a counter.
local function counted(stored)
  local n = stored and string.find(stored, '^%d+$') and tonumber(stored)
  return n and n <= MAX_TIME and n or 0
end
