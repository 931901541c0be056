-- Adds to a counter, and returns its new value. A counter that is not a number any more, or is too large, begins anew: a script
-- must not fail at its end.
-- @exports add
-- @needs meta

local function add(counter, n)
  local result = redis.pcall('HINCRBY', meta, counter, n)
  if type(result) ~= 'table' then return result end
  redis.call('HSET', meta, counter, n)
  return n
end
