-- The partition's highest token, from `delivered` of its meta. If that is damaged, more than was ever given out: the clock's
-- microseconds, of which there were more than deliveries.
local function highest_token(delivered)
  if not delivered then return 0 end
  local token = tonumber(delivered)
  return token and token >= 0 and token < now_us * 2 and token == math.floor(token) and token or now_us
end
