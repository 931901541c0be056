-- Completes the answer of a claim.
-- @needs scheduled, inflight, blocked, most, held_until, is_repeat, granted_before, began_before, next_due, held, digits, number, repaired
-- @use now (now, now_up)
-- @use times (to_time)
-- @use claim-terms (counts_due)
-- @use claim-mode (order_mode, has_keys, relook)
-- @use key-limits (next_rest, granted_at, begins_at)
-- @use claim-reply (reply, announced, suspects, taken)
-- @use claim-share (shared)

-- Time in ms after which to try more of the blocked messages if nothing else waits: in an ordered topic all wait behind dead letters then.
local TRY_AGAIN = order_mode == 'limits' and 30000 or 300000

reply[3] = number
reply[5] = repaired
reply[6] = table.concat(announced, ',')
if held > 0 or #suspects > 0 then
  table.insert(suspects, 1, held > 0 and '1' or '0')
  reply[7] = table.concat(suspects, ',')
end

reply[10] = digits
reply[11] = table.concat(shared, ',')

-- Messages that limits hold back may be due again by then.
if not next_due or has_keys then next_due = redis.call('ZRANGE', scheduled, '0', '0', 'WITHSCORES')[2] end
next_due = next_due and to_time(next_due)
local next_at = next_due or math.huge
-- Messages that are due already are claimed at once, and with them those whose leases have ended by then.
if next_at > now then
  -- Messages held back are claimed when there is room.
  local is_all_held = held > 0 and taken < most
  local lease = redis.call('ZRANGEBYSCORE', inflight, is_all_held and '(' .. now or '-inf', '+inf', 'WITHSCORES', 'LIMIT', '0', '1')[2]
  if lease then next_at = math.min(next_at, to_time(lease)) end
end
if has_keys then next_at = math.min(next_at, next_rest(next_at == math.huge) or math.huge) end
if relook then next_at = math.min(next_at, now) end
if next_at == math.huge then next_at = order_mode and redis.call('ZCARD', blocked) > 0 and now + TRY_AGAIN or -1 end
reply[4] = reply[2] == 3 and held_until or next_at
local granted, begins = granted_at, begins_at
if is_repeat then granted, begins = granted_before, began_before end
if granted > 0 or counts_due == '1' then
  -- Suspects that are held back wait for room, not for a permit.
  local still_due = counts_due == '1'
    and redis.call('ZCOUNT', scheduled, '-inf', now) + math.max(0, redis.call('ZCOUNT', inflight, '-inf', now) - held)
  local starts_at = granted > 0 and begins or 0
  reply[8] = string.format('%d,%d,%d,%d', granted, still_due or -1, starts_at, starts_at - now_up)
end
