-- Gives places in the order of their keys to messages that were never delivered, with few commands for all.
-- @exports line_up_new
-- @needs scheduled, inflight, dead, blocked, queues, places, messages, claims, order_mode, is_ordered, ARGV, FIRST
-- @use publish-begin (due_of_all, score_of_all, dues, scores)
-- @use heads (head_field, key_of)
-- @use order (PLACE, reserve_arrivals, displace)
-- @use long-entry (MANY, MOST_LISTED, LONG_ENTRY)

local ZEROS = '0000000000000000'
local format, find, sub = string.format, string.find, string.sub

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
    for _, set in ipairs({ scheduled, inflight, dead }) do
      if #asked == 0 then break end
      local scores, others, places_of_others = redis.call('ZMSCORE', set, unpack(asked)), {}, {}
      for i = 1, #asked do
        if scores[i] then
          lead[places_asked[i]] = set == scheduled and tonumber(scores[i]) or set ~= dead or order_mode == 'block'
        else
          others[#others + 1] = asked[i]
          places_of_others[#others] = places_asked[i]
        end
      end
      asked, places_asked = others, places_of_others
    end
    -- As `leads` of modules/order.lua.
    local may_share = #asked > 0 and redis.call('HLEN', claims) > 0
    for i = 1, may_share and #asked or 0 do lead[places_asked[i]] = redis.call('HSTRLEN', messages, asked[i]) > 0 end
    return lead
  end

  -- By key, the number of the message that is its head, if it is a new one; and the key of each message.
  local function first_of_keys(from, to)
    local keys, fields, key_of_each, first, count = {}, {}, {}, {}, 0
    for n = from, to do
      local id = ARGV[FIRST + 2 * n - 2]
      local at = find(id, '\0', 1, true)
      local key = at and sub(id, at + 1) or id
      key_of_each[n] = key
      local other = first[key]
      if not other then
        count = count + 1
        keys[count], fields[count] = key, head_field(key)
        first[key] = n
      elseif dues and dues[n] < dues[other] then
        first[key] = n
      end
    end
    local heads = redis.call('HMGET', places, unpack(fields))
    local lead = leading(heads, keys)
    for i = 1, count do
      if lead[i] then
        local n = first[keys[i]]
        local due = due_of_all or dues[n]
        local leads = heads[i] ~= ARGV[FIRST + 2 * n - 2]
        if leads and (lead[i] == true or due >= lead[i] or not displace(heads[i], due)) then first[keys[i]] = nil end
      end
    end
    return first, key_of_each
  end

  -- Takes the numbers of the first and the last of up to 200 messages of this call, which are in no set. Returns the earliest due time of those
  -- that are the heads of their keys now.
  function line_up_new(from, to)
    local first, key_of_each = first_of_keys(from, to)
    local are_many = to - from + 1 >= MANY and redis.call('HLEN', places) < MOST_LISTED
    local last, earliest = reserve_arrivals(to - from + 1) - from + 1, nil
    local entries, heads, held, queued = {}, {}, {}, {}
    if are_many then entries, heads, held = { LONG_ENTRY, '' }, { '0', LONG_ENTRY }, { '0', LONG_ENTRY } end
    local entry_count, head_count, held_count, queue_count = #entries, #heads, #held, 0
    local score, digits, place_by_due
    for n = from, to do
      local id, key, nth = ARGV[FIRST + 2 * n - 2], key_of_each[n], format('%d', last + n)
      local at = score_of_all or scores[n]
      if at ~= score or #nth ~= digits then
        score, digits = at, #nth
        place_by_due = '\0' .. sub(ZEROS, #score + 1) .. score .. sub(ZEROS, digits + 1)
      end
      entries[entry_count + 1], entries[entry_count + 2] = PLACE .. id, nth .. ' 0'
      entry_count = entry_count + 2
      if first[key] == n then
        entries[entry_count + 1], entries[entry_count + 2] = head_field(key), id
        heads[head_count + 1], heads[head_count + 2] = score, id
        entry_count, head_count = entry_count + 2, head_count + 2
        local due = due_of_all or dues[n]
        if not earliest or due < earliest then earliest = due end
      else
        held[held_count + 1], held[held_count + 2] = score, id
        queued[queue_count + 1], queued[queue_count + 2] = '0', key .. place_by_due .. nth .. id
        held_count, queue_count = held_count + 2, queue_count + 2
      end
    end
    redis.call('HSET', places, unpack(entries))
    if head_count > 0 then redis.call('ZADD', scheduled, unpack(heads)) end
    if held_count > 0 then redis.call('ZADD', blocked, unpack(held)) end
    if queue_count > 0 then redis.call('ZADD', queues, unpack(queued)) end
    if are_many then
      redis.call('HDEL', places, LONG_ENTRY)
      redis.call('ZREM', scheduled, LONG_ENTRY)
      redis.call('ZREM', blocked, LONG_ENTRY)
    end
    return earliest
  end
end
