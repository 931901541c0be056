-- Whether `a` comes before `b` in the order of bytes. Lua's own comparison goes by the server's locale.
local function precedes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- The rank of what comes behind this member, which need not be in the set any more. So a list that is read page by page
-- skips nothing that was there all along, whatever comes and goes meanwhile.
local function rank_after(set, score, member)
  local low = redis.call('ZCOUNT', set, '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', set, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if precedes(member, redis.call('ZRANGE', set, middle, middle)[1]) then high = middle else low = middle + 1 end
  end
  return low
end
