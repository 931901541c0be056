-- When the first message is due that can be claimed.
-- @exports head_due
-- @needs scheduled

-- Returns epoch ms; nil if there is none.
local function head_due()
  local head = redis.call('ZRANGE', scheduled, '0', '0', 'WITHSCORES')
  return head[2] and tonumber(head[2]) or nil
end
