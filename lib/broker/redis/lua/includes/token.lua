-- The partition's highest token, as `delivered` of its meta tells. Where that is damaged, more than was ever given out: the
-- microseconds of the clock, of which there were more than deliveries.
local function highest_token(delivered)
  if not delivered then return 0 end
  local token = tonumber(delivered)
  return token and token >= 0 and token < now_us * 2 and token == math.floor(token) and token or now_us
end
