-- Makes deliveries of the messages that a claim has taken.
-- @needs scheduled, inflight, messages, deliveries, claims, keyed, claimant, owner_start, token_start, deadline, is_once, number, repaired
-- @needs has_records, leave
-- @use now (now)
-- @use record (parse_record)
-- @use forget (forget)
-- @use finished (keeps)
-- @use finish (head_of, finish)
-- @use claim-mode (order_mode, has_keys)
-- @use key-limits (note_delivery)
-- @use claim-reply (ALONE, announce)
-- @use claim-share (deliver_shared)
-- @use long-entry (MANY, LONG_ENTRY)
-- @use claim-next (ids, dues, listed)

-- Mostly all records are of messages in flight, so that those that are due have none. Another program may have put entries in flight
-- that have no record; spent attempts have left a failure.
if dues and #ids > 0 and not has_records then
  local stored = redis.call('HLEN', deliveries)
  has_records = stored > 0 and stored > redis.call('ZCARD', inflight) - redis.call('HLEN', claims)
end
if #ids > 0 and not (deliver_shared and dues and not has_records and deliver_shared(ids, listed)) then
  local envelopes = redis.call('HMGET', messages, unpack(ids))
  local records, redelivery = {}, nil
  if has_records or not dues then
    records = redis.call('HMGET', deliveries, unpack(ids))

    -- Returns what the answer tells of the next delivery, its record, and the number of crashes.
    function redelivery(record, due)
      local _, delivery, attempt, last_due, _, crashes = parse_record(record)
      -- The head of an ordered key may have waited for longer, under another score.
      if not due or has_keys and order_mode ~= 'limits' then due = last_due or due or now end
      if dues or crashes >= ALONE or attempt == 0 then attempt = attempt + 1 end
      local told = string.format('%d %d %d %d', number, delivery + 1, attempt, due)
      if dues then return told, token_start .. told, 0 end
      return told, string.format('%s%s %d', token_start, told, crashes + 1), crashes + 1
    end
  end
  -- Written to the set and to the hash; of messages that are gone, since they are handed out at most once, these are the ids and the records.
  local members, fields, size, orphans = {}, {}, 0, nil
  local heads = is_once and {}
  local are_many = #ids >= MANY and not is_once
  if are_many then members, fields, size = { 0, LONG_ENTRY }, { LONG_ENTRY, '' }, 2 end
  for i = 1, #ids do
    local id = ids[i]
    if not envelopes[i] then
      orphans = orphans or {}
      orphans[#orphans + 1] = id
      repaired = repaired + 1
    else
      number = number + 1
      if has_keys then note_delivery(id, dues) end
      local told, record, crashes
      if records[i] or not dues then
        told, record, crashes = redelivery(records[i], dues and dues[i])
      else
        told, crashes = dues[i], 0
        record = string.format('%s%d 1 1 %s', token_start, number, told)
      end
      if is_once then
        size = size + 1
        members[size] = id
        if keeps then heads[size], fields[size] = head_of('d', nil, string.sub(claimant, #owner_start + 1)), record end
      else
        members[size + 1], members[size + 2] = deadline, id
        fields[size + 1], fields[size + 2] = id, record
        size = size + 2
      end
      announce(id, envelopes[i], told, crashes)
    end
  end
  -- Removing them may write to this one, too.
  if orphans then redis.call('ZCARD', keyed) end
  -- Here, behind the first look at all keys.
  if dues and not has_keys then redis.call('ZREMRANGEBYRANK', scheduled, '0', #ids == 1 and '0' or #ids - 1) end
  if is_once and size > 0 then
    finish(members, heads, fields)
    if order_mode then leave(members) end
  elseif size > 0 then
    redis.call('ZADD', inflight, unpack(members))
    redis.call('HSET', deliveries, unpack(fields))
  end
  if are_many then
    redis.call('ZREM', inflight, LONG_ENTRY)
    redis.call('HDEL', deliveries, LONG_ENTRY)
  end
  if orphans then
    forget(orphans)
    if order_mode then leave(orphans) end
  end
end
