-- Ends one delivery.
-- @exports settle, remove, ended, gone, gone_as, places_of, counts
-- @needs scheduled, inflight, deliveries, dead, errors, order_mode, ids
-- @use now (now, now_up)
-- @use record (NO_TOKEN, parse_record, replaced_until, first_mark, format_record)
-- @use history (with_history)
-- @use finished (keeps)
-- @use lines (line_up, leave_line)
-- @use earliest (note)
-- @use head-before (look_before)
-- @use settle-types (assert_others)
-- @use settle-key (rest_key, give_back)

-- Deliveries that have ended in this call, by stored id.
local ended = {}
-- Messages that have ended, how, and their numbers among the deliveries of this call.
local gone, gone_as, places_of = {}, {}, {}
local counts = { acked = 0, retried = 0, died = 0, cancelled = 0, expired = 0, stale = 0 }

local function count(counter) counts[counter] = counts[counter] + 1 end

local function reschedule(id, due, delivery, attempt, mark)
  if attempt < 0 then attempt = 0 end
  if order_mode == 'limits' then note(leave_line(id)) end
  look_before()
  redis.call('ZADD', scheduled, due, id)
  redis.call('HSET', deliveries, id, format_record(NO_TOKEN, delivery, attempt, due, mark))
  note(due)
end

-- Schedules the message that has replaced another one, with a place of its own.
local function schedule_replacement(id, mark)
  local due, first = replaced_until(mark), first_mark(mark)
  if not order_mode then return reschedule(id, due, 0, 0, first) end
  redis.call('HSET', deliveries, id, format_record(NO_TOKEN, 0, 0, due, first))
  note(leave_line(id))
  note(line_up(id, due, 0))
end

-- Stores a failure. The first delivery has no earlier ones to look for.
local function keep(id, failure, delivery)
  redis.call('HSET', errors, id, delivery > 1 and with_history(id, failure) or failure)
end

local function remove(n, counter)
  local at = #gone + 1
  gone[at] = ids[n]
  if keeps then gone_as[at], places_of[at] = counter, n end
  count(counter)
end

-- Ends the delivery of this number; returns the digit.
local function settle(n, record, token, outcome, delay, failure)
  local id = ids[n]
  local current, delivery, attempt, due, mark = parse_record(record)
  if current ~= token or token == NO_TOKEN or ended[id] then
    count('stale')
    return '0'
  end
  ended[id] = true
  if delay and delay > 0 and (outcome == 'b' or outcome == 'u' or outcome == 'x') then give_back(id, delay) end
  if mark == 'c' and outcome ~= 'a' then
    remove(n, 'cancelled')
    return '2'
  elseif replaced_until(mark) then
    assert_others()
    redis.call('ZREM', inflight, id)
    redis.call('HDEL', errors, id)
    schedule_replacement(id, mark)
    if outcome ~= 'a' then return '3' end
    count('acked')
  elseif outcome == 'a' then
    remove(n, 'acked')
  else
    redis.call('ZREM', inflight, id)
    if outcome == 'r' then
      keep(id, failure, delivery)
      reschedule(id, now_up + delay, delivery, attempt)
      count('retried')
    elseif outcome == 'd' or outcome == 'u' or outcome == 'x' then
      local spent = outcome == 'd' and attempt or math.max(0, attempt - 1)
      redis.call('ZADD', dead, now, id)
      keep(id, failure, delivery)
      redis.call('HSET', deliveries, id, format_record(NO_TOKEN, delivery, spent, due))
      if order_mode and order_mode ~= 'block' then note(leave_line(id)) end
      count('died')
      if outcome == 'x' then count('expired') end
    elseif outcome == 'p' or outcome == 'k' then
      if outcome == 'k' then rest_key(id, now_up + delay) end
      reschedule(id, now_up + delay, delivery, attempt - 1)
    else
      reschedule(id, due, delivery, attempt - 1)
    end
  end
  return '1'
end
