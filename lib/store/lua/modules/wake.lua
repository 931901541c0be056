-- Signals a partition's owner when a message is due earlier than the one that it waits for.
-- @exports head_due, wake
-- @needs scheduled, wake_command, channel

local function head_due()
  local head = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
  return head[2] and tonumber(head[2]) or nil
end

-- Signals if `due` comes before the former head.
local function wake(head_before, due)
  if due and (not head_before or due < head_before) then
    redis.call(wake_command, channel, string.format('due %d', due))
  end
end
