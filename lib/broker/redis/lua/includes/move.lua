-- Needs: scheduled, deliveries, NO_TOKEN, parse_record, format_record, first_mark.
-- Gives a message that waits another due time. All else of it stays as it is.
local function move(id, due)
  redis.call('ZADD', scheduled, due, id)
  local record = redis.call('HGET', deliveries, id)
  if record then
    local _, delivery, attempt, _, mark = parse_record(record)
    redis.call('HSET', deliveries, id, format_record(NO_TOKEN, delivery, attempt, due, first_mark(mark)))
  end
end
