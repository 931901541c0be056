-- When the first message was due before this call.
-- @exports head_before, look_before
-- @needs order_mode
-- @use head-due (head_due)
-- @use earliest (earliest)

-- Epoch ms; nil if there was none.
local head_before = order_mode and head_due() or nil

-- Call this before the first message is scheduled: without an order it is not asked for before.
local function look_before()
  if not earliest and not order_mode then head_before = head_due() end
end
