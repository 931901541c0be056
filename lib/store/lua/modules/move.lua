-- Gives a message that waits another due time; in an ordered topic also the place that goes with it. Everything else stays as it is.
-- @exports move
-- @needs scheduled, deliveries, order_mode
-- @use record (NO_TOKEN, parse_record, first_mark, format_record)
-- @use lines (line_up, leave_line)

local function move(id, due)
  local record = redis.call('HGET', deliveries, id)
  local _, delivery, attempt, _, mark = parse_record(record)
  if record then redis.call('HSET', deliveries, id, format_record(NO_TOKEN, delivery, attempt, due, first_mark(mark))) end
  if order_mode then
    redis.call('ZREM', scheduled, id)
    leave_line(id)
    line_up(id, due, delivery)
  else
    redis.call('ZADD', scheduled, due, id)
  end
end
