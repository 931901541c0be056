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
-- @needs scheduled, inflight, dead, blocked, queues, places, deliveries, order_mode
-- @use times (MAX_TIME, to_time)
-- @use record (parse_record)
-- @use heads (head_field, key_of)
-- @use queues (in_queue, id_in_queue)

local PLACE = 'place:'
local MOST_DROPPED = 10

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

  -- Whether a message keeps the others of this key waiting.
  function leads(id, key)
    return key_of(id) == key
      and (
        redis.call('ZSCORE', scheduled, id)
        or redis.call('ZSCORE', inflight, id)
        or order_mode == 'block' and redis.call('ZSCORE', dead, id)
      )
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

  -- Takes messages out of the order of their keys, up to 200: they are done, or are to be placed anew. Returns the earliest due time of those
  -- that come next.
  function leave_order(ids)
    local head_fields, place_fields, earliest = {}, {}, nil
    for i = 1, #ids do
      head_fields[i] = head_field(key_of(ids[i]))
      place_fields[i] = PLACE .. ids[i]
    end
    local heads, led = redis.call('HMGET', places, unpack(head_fields)), {}
    -- Blocked ones go first, so that none of them becomes the next one.
    for i = 1, #ids do
      local id = ids[i]
      if heads[i] == id then
        led[#led + 1] = key_of(id)
      else
        local score = redis.call('ZSCORE', blocked, id)
        local nth = score and place_of(id)
        if nth then redis.call('ZREM', queues, in_queue(id, to_time(score), nth)) end
        if score then redis.call('ZREM', blocked, id) end
      end
    end
    redis.call('HDEL', places, unpack(place_fields))
    for i = 1, #led do
      local due = promote(led[i])
      if due and (not earliest or due < earliest) then earliest = due end
    end
    return earliest
  end
end
