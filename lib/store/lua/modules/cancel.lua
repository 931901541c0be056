-- Cancels a message.
-- @exports NOT_FOUND, CANCELLED, IN_FLIGHT, cancel_one
-- @needs scheduled, deliveries, blocked, order_mode, wake_command, channel
-- @use now (now)
-- @use record (parse_record, format_record)
-- @use lease (lease_of)
-- @use finished (keeps)
-- @use finish (finish, head_of, record_of)
-- @use lines (leave_line)

local NOT_FOUND, CANCELLED, IN_FLIGHT = 0, 1, 2

-- Removes a message that waits, and marks one that is in flight. Returns what has become of it, and the due time of the next message of its
-- key, if it was in the way.
local function cancel_one(id)
  local due = redis.call('ZSCORE', scheduled, id) or order_mode and redis.call('ZSCORE', blocked, id)
  if due then
    redis.call('ZREM', scheduled, id)
    finish({ id }, keeps and { head_of('c') }, keeps and { record_of(id, due) })
    return CANCELLED, order_mode and leave_line(id) or nil
  end
  if not lease_of(id) then return NOT_FOUND end
  local token, delivery, attempt, last_due = parse_record(redis.call('HGET', deliveries, id))
  redis.call('HSET', deliveries, id, format_record(token, delivery, attempt, last_due or now, 'c'))
  redis.call(wake_command, channel, 'cancelled ' .. token .. ' ' .. id)
  return IN_FLIGHT
end
