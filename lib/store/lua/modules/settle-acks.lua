-- Ends deliveries, up to 200, if all of them have succeeded, and are the current ones of messages without a mark. That is so in nearly all calls.
-- @exports records, is_plain, are_acked
-- @needs inflight, deliveries, claims, outcomes, ids, order_mode
-- @use finished (keeps)
-- @use forget (forget)
-- @use lines (leave_lines)
-- @use earliest (note)
-- @use settle-shared (are_shared, own, own_tokens, emptied, rewritten, bring_out_shares)

local records = #own > 0 and redis.call('HMGET', deliveries, unpack(own)) or {}

-- Whether this is the current delivery of a message without a mark. Parsing the record would cost more than all the rest of an ack. The token
-- has its space behind.
local function is_plain(record, token)
  return record and token ~= '0 ' and string.find(record, token, 1, true) == 1
end

local are_acked = outcomes == 'a' and not keeps
local is_listed = {}
for n = 1, #own do
  if not is_plain(records[n], own_tokens[n]) or is_listed[own[n]] then
    are_acked = false
    break
  end
  is_listed[own[n]] = true
end
if are_acked then
  forget(ids, false, own)
  local leases = own
  if are_shared then
    if #emptied > 0 then redis.call('HDEL', claims, unpack(emptied)) end
    if #rewritten > 0 then redis.call('HSET', claims, unpack(rewritten)) end
    for _, field in ipairs(emptied) do leases[#leases + 1] = '\0' .. field end
  end
  if #leases > 0 then redis.call('ZREM', inflight, unpack(leases)) end
  if order_mode then note(leave_lines(ids)) end
elseif are_shared then
  bring_out_shares()
  records = redis.call('HMGET', deliveries, unpack(ids))
end
