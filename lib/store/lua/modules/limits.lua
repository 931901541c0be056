-- In a topic without an order, a due message held back by a limit of its key is parked: it is in `blocked` and `queues`, with arrival 0.
-- `running` has '<key> NUL <stored id>' of each delivery that counts against the limit of its key on what is in flight, all with score 0. Claims park
-- messages and take them back; the end of a delivery takes back one, unless its key rests.
-- `rates` has of a key '<until when nothing of it can begin, ms><a space and its log, see rate-log.lua>', 0 if it can; `rated` has until when that
-- counts. `resting` has, of a key with messages that wait for that, when the next one can begin.
-- @exports take_back, leave_limits
-- @needs scheduled, blocked, queues, running, resting, order_mode
-- @use now (now)
-- @use times (LONGEST, to_time)
-- @use heads (key_of)
-- @use queues (in_queue, id_in_queue)

local take_back, leave_limits

if order_mode == 'limits' then
  redis.call('ZCARD', running)

  -- Makes parked messages of a key claimable, up to the given number. Returns how many, and the due time of the first of them.
  function take_back(key, most)
    local queued = redis.call('ZRANGEBYLEX', queues, '[' .. key .. '\0', '(' .. key .. '\1', 'LIMIT', 0, most)
    if #queued == 0 then return 0, nil end
    local ids, members = {}, {}
    for i = 1, #queued do ids[i] = id_in_queue(queued[i], key) end
    local scores = redis.call('ZMSCORE', blocked, unpack(ids))
    for i = 1, #ids do
      -- An entry that is not blocked is no message of this queue: another program has written it.
      if scores[i] then
        members[#members + 1] = string.format('%d', to_time(scores[i]))
        members[#members + 1] = ids[i]
      end
    end
    redis.call('ZREM', queues, unpack(queued))
    redis.call('ZREM', blocked, unpack(ids))
    if #members > 0 then redis.call('ZADD', scheduled, unpack(members)) end
    return #members / 2, tonumber(members[1])
  end

  -- Stops counting messages against the limits of their keys; up to 200. Returns the earliest due time of those that can begin in their place.
  function leave_limits(ids)
    local entries, others, earliest = {}, {}, nil
    for i = 1, #ids do entries[i] = key_of(ids[i]) .. '\0' .. ids[i] end
    redis.call('ZREM', running, unpack(entries))
    if redis.call('ZCARD', blocked) == 0 then return nil end
    local scores = redis.call('ZMSCORE', blocked, unpack(ids))
    -- Parked ones go first, so that none of them is taken back.
    for i = 1, #ids do
      if scores[i] then
        redis.call('ZREM', blocked, ids[i])
        redis.call('ZREM', queues, in_queue(ids[i], to_time(scores[i]), 0))
      else
        others[#others + 1] = key_of(ids[i])
      end
    end
    local rests = #others > 0 and redis.call('ZMSCORE', resting, unpack(others)) or {}
    for i = 1, #others do
      local rests_until = tonumber(rests[i] or 0)
      -- If the key rests, the end of the rest takes messages back.
      if rests_until <= now or rests_until > now + LONGEST then
        local _, due = take_back(others[i], 1)
        if due and (not earliest or due < earliest) then earliest = due end
      end
    end
    return earliest
  end
end
