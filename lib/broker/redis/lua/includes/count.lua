-- Needs: meta.
-- Counts on. A counter that is no number any more, or that has no room left, begins anew, since a script must not fail at
-- its end.
local function add(counter, n)
  local result = redis.pcall('HINCRBY', meta, counter, n)
  if type(result) == 'table' then redis.call('HSET', meta, counter, n) end
end
