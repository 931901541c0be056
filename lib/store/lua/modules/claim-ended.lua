-- Finds messages whose lease has ended.
-- @exports find_ended, take_ended
-- @needs scheduled, inflight, deliveries, errors, free, held, now_text, repaired, leave
-- @use leases (bring_out_first)
-- @use record (NO_TOKEN, parse_record, replaced_until, first_mark, format_record)
-- @use count (add)
-- @use finished (keeps)
-- @use finish (head_of, finish)
-- @use envelopes (has_envelope)
-- @use lines (line_up)
-- @use claim-mode (order_mode, has_keys)
-- @use key-limits (load_states, may_come_again)
-- @use claim-reply (room_for)

-- Returns those for which there is room, and whose keys allow it, and their records.
local function admitted(ids)
  local records, result, kept, later = redis.call('HMGET', deliveries, unpack(ids)), {}, {}, {}
  if has_keys then load_states(ids) end
  for i = 1, #ids do
    local _, _, _, _, mark, crashes = parse_record(records[i])
    local needed = mark == '' and room_for(crashes + 1) or 0
    local allowed, at = true, nil
    if needed <= free and has_keys and mark == '' then allowed, at = may_come_again(ids[i]) end
    if not allowed then
      later[#later + 1], later[#later + 2] = string.format('%d', at), ids[i]
    elseif needed <= free then
      free = free - needed
      result[#result + 1] = ids[i]
      kept[#result] = records[i]
    else
      held = held + 1
    end
  end
  if #later > 0 then redis.call('ZADD', inflight, unpack(later)) end
  return result, kept
end

-- Ends a message that was cancelled while in flight, or schedules the one that has replaced it, once its delivery will not be settled
-- any more. The id is in neither set. Returns whether the message was one of those.
local function conclude(id, mark, record)
  if mark == 'c' then
    finish({ id }, keeps and { head_of('c') }, { record })
    if order_mode then leave({ id }) end
    add('cancelled', 1)
    return true
  end
  local due = replaced_until(mark)
  if not due then return false end
  redis.call('HDEL', errors, id)
  redis.call('HSET', deliveries, id, format_record(NO_TOKEN, 0, 0, due, first_mark(mark)))
  if order_mode then
    leave({ id })
    line_up(id, due, 0)
  else
    redis.call('ZADD', scheduled, due, id)
  end
  return true
end

local function find_ended(limit)
  local ids
  repeat
    ids = redis.call('ZRANGEBYSCORE', inflight, '-inf', now_text, 'LIMIT', held, limit)
  until not bring_out_first(ids, limit)
  return ids
end

-- Takes messages out of their set, and returns those that are to be delivered again. The others stay, or have ended here.
local function take_ended(found)
  local ids, records = admitted(found)
  local ended = {}
  if #ids == 0 then return ended end
  redis.call('ZREM', inflight, unpack(ids))
  local waiting = redis.call('ZMSCORE', scheduled, unpack(ids))
  for i = 1, #ids do
    local _, _, _, _, mark = parse_record(records[i])
    if waiting[i] then
      -- Only damage from outside puts a message in both sets; it waits, and must not be early.
      repaired = repaired + 1
    elseif mark == '' or not has_envelope(ids[i]) or not conclude(ids[i], mark, records[i]) then
      ended[#ended + 1] = ids[i]
    end
  end
  return ended
end
