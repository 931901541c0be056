-- Ends deliveries, up to 200, if all of them have succeeded, and are the current ones of messages without a mark. That is so in nearly all calls.
-- @exports records, is_plain, are_acked
-- @needs inflight, deliveries, outcomes, ids, order_mode
-- @use finished (keeps)
-- @use finish (finish)
-- @use lines (leave_lines)
-- @use earliest (note)
-- @use settle-tokens (tokens_of)

local records = redis.call('HMGET', deliveries, unpack(ids))

-- Whether this is the current delivery of a message without a mark. Parsing the record would cost more than all the rest of an ack. The token
-- has its space behind.
local function is_plain(n)
  local record, token = records[n], tokens_of[n]
  return record and token ~= '0 ' and string.find(record, token, 1, true) == 1
end

local are_acked = outcomes == 'a' and not keeps
local is_listed = {}
for n = 1, #ids do
  if not is_plain(n) or is_listed[ids[n]] then
    are_acked = false
    break
  end
  is_listed[ids[n]] = true
end
if are_acked then
  finish(ids)
  redis.call('ZREM', inflight, unpack(ids))
  if order_mode then note(leave_lines(ids)) end
end
