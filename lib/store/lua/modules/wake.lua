-- Signals a partition's owner when a message is due earlier than the one that it waits for.
-- @exports wake
-- @needs wake_command, channel

-- Signals if `due` comes before the former head.
local function wake(head_before, due)
  if due and (not head_before or due < head_before) then
    redis.call(wake_command, channel, string.format('due %d', due))
  end
end
