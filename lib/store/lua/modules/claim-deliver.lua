-- Makes deliveries of messages.
-- @exports number, repaired, may_have_records, deliver, leave
-- @needs scheduled, inflight, messages, deliveries, claims, keyed, number_before, claimant, owner_start, token_start, deadline, is_once
-- @use now (now)
-- @use record (parse_record)
-- @use forget (has_errors, forget)
-- @use long-entry (MANY, LONG_ENTRY)
-- @use finished (keeps)
-- @use finish (head_of, finish)
-- @use lines (leave_lines)
-- @use claim-mode (order_mode, has_keys)
-- @use key-limits (note_delivery, has_ended)
-- @use claim-reply (ALONE, numbers_of, announce)

-- Number of the latest delivery. It is never used again, whether the owner or this partition knows of it.
local number = number_before
-- Number of entries found without a message or a place.
local repaired = 0

-- Mostly all records are of messages in flight, so that those that are due have none. Another program may have put entries in flight
-- that have no record; spent attempts have left a failure.
local has_records = has_errors
local function may_have_records()
  if has_records then return true end
  local stored = redis.call('HLEN', deliveries)
  has_records = stored > 0 and stored > redis.call('ZCARD', inflight) - redis.call('HLEN', claims)
  return has_records
end

local function leave(ids)
  leave_lines(ids)
  if has_keys then has_ended(ids) end
end

-- Makes deliveries of the given ids. They are the first of `scheduled` if `are_first`, and leave it here, behind the first look at all keys;
-- else they are in neither set any more. `dues`, as text, is nil for those whose lease ended.
local function deliver(ids, dues, are_first)
  local envelopes = redis.call('HMGET', messages, unpack(ids))
  local records = (not dues or may_have_records()) and redis.call('HMGET', deliveries, unpack(ids)) or {}
  local members, fields, size, orphans = {}, {}, 0, {}
  -- Messages that are gone, since they are handed out at most once.
  local once, heads, once_records = {}, {}, {}
  local are_many = #ids >= MANY and not is_once
  if are_many then members, fields, size = { 0, LONG_ENTRY }, { LONG_ENTRY, '' }, 2 end
  for i = 1, #ids do
    local id, envelope = ids[i], envelopes[i]
    if not envelope then
      orphans[#orphans + 1] = id
      repaired = repaired + 1
    else
      number = number + 1
      if has_keys then note_delivery(id, dues) end
      local record, told, crashes
      if records[i] or not dues then
        local _, delivery, attempt, last_due, _, crashed = parse_record(records[i])
        local is_spent = dues or crashed >= ALONE or attempt == 0
        local due = dues and dues[i] or last_due or now
        -- The head of an ordered key may have waited for longer, under another score.
        if dues and has_keys and order_mode ~= 'limits' then due = last_due or due end
        crashes = dues and 0 or crashed + 1
        told = numbers_of(number, delivery + 1, is_spent and attempt + 1 or attempt, due)
        record = token_start .. told
        if not dues then record = string.format('%s %d', record, crashes) end
      else
        told, crashes = dues[i], 0
        record = string.format('%s%d 1 1 %s', token_start, number, told)
      end
      if is_once then
        once[#once + 1] = id
        if keeps then heads[#once], once_records[#once] = head_of('d', nil, string.sub(claimant, #owner_start + 1)), record end
      else
        members[size + 1], members[size + 2] = deadline, id
        fields[size + 1], fields[size + 2] = id, record
        size = size + 2
      end
      announce(id, envelope, told, crashes)
    end
  end
  -- Removing them may write to this one, too.
  if #orphans > 0 then redis.call('ZCARD', keyed) end
  if are_first then redis.call('ZREMRANGEBYRANK', scheduled, 0, #ids - 1) end
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
