-- An ordered topic hands out one message of a key at a time. Only the first of each key, its head, is in `scheduled` or in flight, or
-- dead if dead letters block. Those behind it are in `blocked` and `queues`, see queues.lua. A message that has begun stays the head until it is
-- done.
-- `places` has:
--   mode        'block' if dead letters keep their key, 'continue' if they do not; 'limits' if there is no order, but limits hold messages
--               of keys back, see limits.lua; nothing if there is neither
--   arrivals    how many messages were placed so far
--   head:<key>  stored id of the head
--   place:<id>  '<arrival> <deliveries>' of a message when it was placed; it has begun if there were more deliveries since
-- Use this before anything is written.
-- @exports PLACE, place_of, reserve_arrivals, displace, leads, promote, line_up_in_order, leave_order
-- @needs scheduled, inflight, dead, blocked, queues, places, messages, deliveries, claims, order_mode
-- @use times (MAX_TIME, to_time)
-- @use record (parse_record)
-- @use shared-records (is_shared)
-- @use heads (head_field, key_of)
-- @use queues (in_queue, id_in_queue)

local PLACE = 'place:'
local MOST_DROPPED = 10
-- All queues are read, and not each by itself, while they have so few entries a key.
local FEW = 2

local place_of, reserve_arrivals, displace, leads, promote, line_up_in_order, leave_order
if order_mode then
  for _, key in ipairs({ scheduled, inflight, dead, blocked, queues }) do redis.call('ZCARD', key) end
  redis.call('HLEN', places)
  redis.call('HLEN', deliveries)
end

-- Other topics do without all this.
if order_mode and order_mode ~= 'limits' then
  -- Returns the place of a message; nil if none is stored, or it cannot be read.
  function place_of(id)
    local nth, delivered = string.match(redis.call('HGET', places, PLACE .. id) or '', '^(%d+) (%d+)$')
    nth, delivered = tonumber(nth), tonumber(delivered)
    if nth and nth <= MAX_TIME then return nth, delivered end
  end

  -- Reserves numbers for the next `n` messages that are placed. Returns the one before the first of them.
  function reserve_arrivals(n)
    local last = redis.pcall('HINCRBY', places, 'arrivals', n)
    if type(last) == 'table' or last < n or last > MAX_TIME then
      last = n
      redis.call('HSET', places, 'arrivals', n)
    end
    return last - n
  end

  local function schedule_head(id, due, ...)
    redis.call('HSET', places, head_field(key_of(id)), id, ...)
    redis.call('ZADD', scheduled, string.format('%d', due), id)
    return due
  end

  local function block(id, due, nth)
    redis.call('ZADD', blocked, string.format('%d', due), id)
    redis.call('ZADD', queues, 0, in_queue(id, due, nth))
  end

  -- Whether a message that is in no set may be in flight, with a shared record. To read all of those would cost more than all else of a
  -- publish; only where another program has removed a head, this can be wrong, and claims find that.
  local function may_share(id) return redis.call('HLEN', claims) > 0 and redis.call('HSTRLEN', messages, id) > 0 end

  -- Whether a message keeps the others of this key waiting. `surely`: by a look into the shared records.
  function leads(id, key, surely)
    if key_of(id) ~= key then return false end
    if redis.call('ZSCORE', scheduled, id) or redis.call('ZSCORE', inflight, id) then return true end
    if redis.call('ZSCORE', dead, id) then return order_mode == 'block' end
    return may_share(id) and (not surely or is_shared(id))
  end

  -- Makes room for a message that is due before the head of its key, if the head has not begun. Returns whether it has.
  function displace(head, due)
    local score = redis.call('ZSCORE', scheduled, head)
    if not score or due >= tonumber(score) then return false end
    local nth, delivered = place_of(head)
    local record = redis.call('HGET', deliveries, head)
    local _, delivered_now, _, head_due = parse_record(record)
    -- If the record of the head cannot be read, it is unknown whether it has begun.
    if not nth or delivered_now > delivered or record and not head_due then return false end
    -- A head held back by a limit of its key is in `scheduled` for when it can begin.
    head_due = head_due or to_time(score)
    if due >= head_due then return false end
    redis.call('ZREM', scheduled, head)
    block(head, head_due, nth)
    return true
  end

  -- Gives a place to a message that is in no set and had the given number of deliveries. Returns its due time if it is the head of its key
  -- now, else nil.
  function line_up_in_order(id, due, delivered)
    local nth, key = reserve_arrivals(1) + 1, key_of(id)
    local place = string.format('%d %d', nth, delivered)
    local head = redis.call('HGET', places, head_field(key))
    if head and head ~= id and leads(head, key) and not displace(head, due) then
      redis.call('HSET', places, PLACE .. id, place)
      block(id, due, nth)
      return nil
    end
    return schedule_head(id, due, PLACE .. id, place)
  end

  -- Makes the first of those that wait behind a head the next one. Returns its due time, nil if there is none.
  function promote(key)
    for _ = 1, MOST_DROPPED do
      local queued = redis.call('ZRANGEBYLEX', queues, '[' .. key .. '\0', '(' .. key .. '\1', 'LIMIT', 0, 1)[1]
      if not queued then break end
      redis.call('ZREM', queues, queued)
      local id = id_in_queue(queued, key)
      local score = redis.call('ZSCORE', blocked, id)
      -- An entry that is not blocked is no message of this queue: another program has written it.
      if score then
        redis.call('ZREM', blocked, id)
        return schedule_head(id, to_time(score))
      end
    end
    redis.call('HDEL', places, head_field(key))
    return nil
  end

  -- Returns the first entry of the queue of each of these keys, by key; `waiting` entries are in all queues.
  local function first_in_queues(keys, waiting)
    local first = {}
    if waiting <= FEW * #keys then
      local entries = redis.call('ZRANGE', queues, '0', '-1')
      for i = #entries, 1, -1 do
        local key_end = string.find(entries[i], '\0', 1, true)
        if key_end then first[string.sub(entries[i], 1, key_end - 1)] = entries[i] end
      end
    else
      for i = 1, #keys do
        local key = keys[i]
        first[key] = redis.call('ZRANGEBYLEX', queues, '[' .. key .. '\0', '(' .. key .. '\1', 'LIMIT', '0', '1')[1]
      end
    end
    return first
  end

  -- As `promote` of each key, with few commands for all. `dropped` gets the fields of keys for which none waits. Returns the earliest due time;
  -- math.huge if there is none, and nil, with nothing changed, if what is in the queues was not all written here.
  local function promote_all(keys, dropped)
    local waiting, earliest = redis.call('ZCARD', queues), math.huge
    if waiting ~= redis.call('ZCARD', blocked) then return nil end
    local first = waiting > 0 and first_in_queues(keys, waiting) or {}
    local entries, ids, heads, fields, count, looked_at = {}, {}, {}, {}, 0, nil
    for i = 1, #keys do
      local key = keys[i]
      local entry, field = first[key], head_field(key)
      if not entry then
        dropped[#dropped + 1] = field
      else
        local id, due = id_in_queue(entry, key)
        if due ~= looked_at then
          looked_at = due
          local time = not string.find(due, '%D') and tonumber(due)
          if not time then return nil end
          if time < earliest then earliest = time end
        end
        count = count + 1
        entries[count], ids[count] = entry, id
        heads[2 * count - 1], heads[2 * count] = due, id
        fields[2 * count - 1], fields[2 * count] = field, id
      end
    end
    if count == 0 then return earliest end
    -- If one was not blocked, it is not known which.
    local were_blocked = redis.call('ZREM', blocked, unpack(ids)) == count
    redis.call('ZREM', queues, unpack(entries))
    if were_blocked then
      redis.call('HSET', places, unpack(fields))
      redis.call('ZADD', scheduled, unpack(heads))
      return earliest
    end
    for i = 1, count do
      local id, key, due = ids[i], key_of(ids[i]), tonumber(heads[2 * i - 1])
      if redis.call('HSTRLEN', messages, id) > 0 and not leads(id, key, true) then schedule_head(id, due) else due = promote(key) end
      if due and due < earliest then earliest = due end
    end
    return earliest
  end

  -- Takes messages out of the order of their keys, up to 200: they are done, or are to be placed anew. Returns the earliest due time of those
  -- that come next.
  function leave_order(ids)
    local keys, fields = {}, {}
    for i = 1, #ids do
      keys[i] = key_of(ids[i])
      fields[i] = head_field(keys[i])
    end
    local heads, led, dropped = redis.call('HMGET', places, unpack(fields)), {}, {}
    -- Blocked ones go first, so that none of them becomes the next one.
    for i = 1, #ids do
      local id = ids[i]
      if heads[i] == id then
        led[#led + 1] = keys[i]
      else
        local score = redis.call('ZSCORE', blocked, id)
        local nth = score and place_of(id)
        if nth then redis.call('ZREM', queues, in_queue(id, to_time(score), nth)) end
        if score then redis.call('ZREM', blocked, id) end
      end
      dropped[i] = PLACE .. id
    end
    local earliest = math.huge
    if #led > 0 then earliest = promote_all(led, dropped) end
    redis.call('HDEL', places, unpack(dropped))
    if not earliest then
      earliest = math.huge
      for i = 1, #led do earliest = math.min(earliest, promote(led[i]) or math.huge) end
    end
    return earliest < math.huge and earliest or nil
  end
end
