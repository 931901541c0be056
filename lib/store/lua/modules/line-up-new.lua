-- Gives places in the order of their keys to messages that were never delivered, with few commands for all.
-- @exports line_up_new
-- @needs scheduled, inflight, dead, blocked, queues, places, order_mode, is_ordered
-- @use heads (head_field, key_of)
-- @use order (PLACE, reserve_arrivals, displace)
-- @use long-entry (MANY, MOST_LISTED, LONG_ENTRY)

local ZEROS = '0000000000000000'
local format, sub = string.format, string.sub

local line_up_new
if is_ordered then
  -- Returns, by place: the due times of the heads that are scheduled, and true for others that keep their keys waiting.
  local function leading(heads, keys)
    local lead, asked, places_asked = {}, {}, {}
    for i = 1, #keys do
      if heads[i] and key_of(heads[i]) == keys[i] then
        asked[#asked + 1] = heads[i]
        places_asked[#asked] = i
      end
    end
    for _, set in ipairs({ scheduled, inflight, order_mode == 'block' and dead }) do
      if #asked == 0 then break end
      local scores, others, places_of_others = set and redis.call('ZMSCORE', set, unpack(asked)) or {}, {}, {}
      for i = 1, #asked do
        if scores[i] then
          lead[places_asked[i]] = set == scheduled and tonumber(scores[i]) or true
        else
          others[#others + 1] = asked[i]
          places_of_others[#others] = places_asked[i]
        end
      end
      asked, places_asked = others, places_of_others
    end
    return lead
  end

  -- By key, the place of the message that is its head, if it is a new one; and the key of each message.
  local function first_of_keys(ids, dues)
    local keys, fields, key_of_each, first = {}, {}, {}, {}
    for i = 1, #ids do
      local key = key_of(ids[i])
      key_of_each[i] = key
      local other = first[key]
      if not other then
        keys[#keys + 1] = key
        fields[#keys] = head_field(key)
        first[key] = i
      elseif dues[i] < dues[other] then
        first[key] = i
      end
    end
    local heads = redis.call('HMGET', places, unpack(fields))
    local lead = leading(heads, keys)
    for i = 1, #keys do
      local n = first[keys[i]]
      local leads = lead[i] and heads[i] ~= ids[n]
      if leads and (lead[i] == true or dues[n] >= lead[i] or not displace(heads[i], dues[n])) then first[keys[i]] = nil end
    end
    return first, key_of_each
  end

  -- Takes up to 200 ids, which are in no set, with their due times. Returns the earliest due time of those that are the heads of their keys now.
  function line_up_new(ids, dues)
    local first, key_of_each = first_of_keys(ids, dues)
    local are_lists = #ids >= MANY and redis.call('HLEN', places) < MOST_LISTED
    local last, earliest = reserve_arrivals(#ids), nil
    local entries, heads, held, queued = {}, {}, {}, {}
    if are_lists then entries, heads, held = { LONG_ENTRY, '' }, { '0', LONG_ENTRY }, { '0', LONG_ENTRY } end
    local entry_count, head_count, held_count, queue_count = #entries, #heads, #held, 0
    local due, digits, score, place_by_due
    for i = 1, #ids do
      local id, key, nth = ids[i], key_of_each[i], format('%d', last + i)
      if dues[i] ~= due or #nth ~= digits then
        due, digits = dues[i], #nth
        score = format('%d', due)
        place_by_due = sub(ZEROS, #score + 1) .. score .. sub(ZEROS, digits + 1)
      end
      entries[entry_count + 1], entries[entry_count + 2] = PLACE .. id, nth .. ' 0'
      entry_count = entry_count + 2
      if first[key] == i then
        entries[entry_count + 1], entries[entry_count + 2] = head_field(key), id
        heads[head_count + 1], heads[head_count + 2] = score, id
        entry_count, head_count = entry_count + 2, head_count + 2
        if not earliest or due < earliest then earliest = due end
      else
        held[held_count + 1], held[held_count + 2] = score, id
        queued[queue_count + 1], queued[queue_count + 2] = '0', key .. '\0' .. place_by_due .. nth .. id
        held_count, queue_count = held_count + 2, queue_count + 2
      end
    end
    redis.call('HSET', places, unpack(entries))
    if head_count > 0 then redis.call('ZADD', scheduled, unpack(heads)) end
    if held_count > 0 then redis.call('ZADD', blocked, unpack(held)) end
    if queue_count > 0 then redis.call('ZADD', queues, unpack(queued)) end
    if are_lists then
      redis.call('HDEL', places, LONG_ENTRY)
      redis.call('ZREM', scheduled, LONG_ENTRY)
      redis.call('ZREM', blocked, LONG_ENTRY)
    end
    return earliest
  end
end
