-- Makes deliveries of messages.
-- @exports number, held, repaired, admitted, deliver
-- @needs scheduled, inflight, messages, deliveries, errors, number_before, free, session, token_start, deadline, is_once
-- @use now (now)
-- @use record (NO_TOKEN, parse_record, replaced_until, first_mark, format_record)
-- @use count (add)
-- @use forget (forget)
-- @use finished (keeps)
-- @use finish (head_of, finish)
-- @use lines (line_up, leave_lines)
-- @use claim-mode (order_mode, has_keys)
-- @use key-limits (load_states, may_come_again, note_delivery, has_ended)
-- @use claim-reply (ALONE, numbers_of, room_for, announce)

-- Number of the latest delivery. It is never used again, whether the owner or this partition knows of it.
local number = number_before
-- Number of messages held back for want of room, and number of entries found without a message or a place.
local held, repaired = 0, 0
local has_failures = redis.call('HLEN', errors) > 0

-- Returns those of the ids, whose leases have ended, for which there is room, and whose keys allow it.
local function admitted(ids)
  local records, result, later = redis.call('HMGET', deliveries, unpack(ids)), {}, {}
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
    else
      held = held + 1
    end
  end
  if #later > 0 then redis.call('ZADD', inflight, unpack(later)) end
  return result
end

local function leave(ids)
  leave_lines(ids)
  if has_keys then has_ended(ids) end
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

-- Redis keeps a small key, by default up to 128 entries of 64 bytes, as a list that it searches from its beginning, which
-- takes most of the time of a claim that fills it. A key that has ever held a longer entry is no such list any more.
local MANY, LONG_ENTRY = 24, string.rep('\0', 65)

-- Makes deliveries of the given ids, which are in neither set any more. `dues`, as text, is nil for those whose lease ended.
local function deliver(ids, dues)
  local envelopes = redis.call('HMGET', messages, unpack(ids))
  -- Mostly all records are of messages in flight, so that these ids have none. Another program may have put entries in flight
  -- that have no record; spent attempts have left a failure.
  local has_records = has_failures or redis.call('HLEN', deliveries) > redis.call('ZCARD', inflight)
  local records = has_records and redis.call('HMGET', deliveries, unpack(ids)) or {}
  local members, fields, size, orphans = {}, {}, 0, {}
  -- Messages that are gone, since they are handed out at most once.
  local once, heads, once_records = {}, {}, {}
  local are_many = #ids >= MANY and not is_once
  if are_many then members, fields, size = { 0, LONG_ENTRY }, { LONG_ENTRY, '' }, 2 end
  for i = 1, #ids do
    local id, envelope = ids[i], envelopes[i]
    local _, delivery, attempt, last_due, mark, crashes = parse_record(records[i])
    if not envelope then
      orphans[#orphans + 1] = id
      repaired = repaired + 1
    elseif dues or not conclude(id, mark, records[i]) then
      number = number + 1
      local is_spent = dues or crashes >= ALONE or attempt == 0
      local spent = is_spent and attempt + 1 or attempt
      local due = dues and dues[i] or last_due or now
      if has_keys then
        note_delivery(id, dues)
        -- The head of an ordered key may have waited for longer, under another score.
        if dues and order_mode ~= 'limits' then due = last_due or due end
      end
      local numbers = numbers_of(number, delivery + 1, spent, due)
      local record = token_start .. numbers
      if is_once then
        once[#once + 1] = id
        if keeps then heads[#once], once_records[#once] = head_of('d', nil, session), record end
      else
        members[size + 1], members[size + 2] = deadline, id
        fields[size + 1], fields[size + 2] = id, dues and record or string.format('%s %d', record, crashes + 1)
        size = size + 2
      end
      announce(id, envelope, numbers, dues and 0 or crashes + 1)
    end
  end
  if #once > 0 then
    finish(once, heads, once_records)
    if order_mode then leave(once) end
  elseif size > 0 then
    redis.call('ZADD', inflight, unpack(members))
    redis.call('HSET', deliveries, unpack(fields))
  end
  if are_many then
    redis.call('ZREM', inflight, LONG_ENTRY)
    redis.call('HDEL', deliveries, LONG_ENTRY)
  end
  forget(orphans)
  if order_mode and #orphans > 0 then leave(orphans) end
end
