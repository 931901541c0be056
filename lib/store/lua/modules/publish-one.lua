-- Publishes one message by itself.
-- @exports publish_one
-- @needs scheduled, messages, deliveries, dead, errors, keyed, blocked, finished, endings, order_mode, is_ordered
-- @use now (now, now_up)
-- @use times (to_time)
-- @use message-columns (waits)
-- @use record (NO_TOKEN, parse_record, replaced_until, first_mark, format_record)
-- @use lease (lease_of)
-- @use head-due (head_due)
-- @use count (add)
-- @use tags (has_tags, untag)
-- @use publish-tags (tags_of, tag)
-- @use forget (forget)
-- @use finished (has_kept, is_kept, drop)
-- @use lines (line_up, leave_line)
-- @use move (move)
-- @use earliest (note)
-- @use publish-status (CREATED, REPLACED, REJECTED, IGNORED, REJECTED_AS)

-- Most bytes of endings that are read.
local MOST_READ = 262144

-- Schedules a message that is in no set.
local function enqueue(id, due)
  if order_mode then
    note(line_up(id, due, 0))
  else
    redis.call('ZADD', scheduled, due, id)
    note(due)
  end
end

-- Bounds a due time: however often a message is replaced, it is due at most its longest wait after its first publish. Returns the due time
-- and the mark that remembers the first publish, which is never taken to be later than now, whatever a clock or another program has done.
local function limited(n, due, mark)
  local first = first_mark(mark)
  local max_wait = waits and waits[n]
  if not max_wait then return due, first end
  local began = math.min(first and tonumber(string.sub(first, 2)) or now_up, now_up)
  return math.min(due, began + max_wait), string.format('f%d', began)
end

local function store(n, id, envelope, due)
  local limited_due, mark = limited(n, due, '')
  redis.call('HSET', messages, id, envelope)
  if mark then redis.call('HSET', deliveries, id, format_record(NO_TOKEN, 0, 0, limited_due, mark)) end
  if string.find(id, '\0', 1, true) then redis.call('ZADD', keyed, 0, id) end
  if tags_of[n] then tag({ n }) end
  enqueue(id, limited_due)
  return CREATED, limited_due
end

local bytes_read = 0

-- Returns the outcome of a message that is kept, as the digit of a publish that it rejects, and its due time; nil if none is kept. One that
-- cannot be read counts as not kept. Endings can be long: once enough of them was read, it says only that they are there.
local function ending_of(id)
  local score = redis.call('ZSCORE', finished, id)
  if not is_kept(score) then return nil end
  if bytes_read > MOST_READ then return REJECTED, to_time(score) end
  local ending = redis.call('HGET', endings, id) or ''
  bytes_read = bytes_read + #ending
  local outcome, record = string.match(ending, '^([acd]) %S+ %S+\n([^\n]*)\n[^\n]*\n')
  if not outcome then return nil end
  local _, _, _, due = parse_record(record)
  return REJECTED_AS[outcome], due or to_time(score)
end

-- Stores a message whose id no other has, unless one that has ended still takes it.
local function store_unless_ended(n, id, envelope, due, on_duplicate)
  if has_kept then
    local rejected, last_due = ending_of(id)
    if rejected and on_duplicate == 'e' then return rejected, last_due end
    if rejected and on_duplicate ~= 'r' then return IGNORED, last_due end
    drop({ id })
  end
  return store(n, id, envelope, due)
end

-- Publishes a message whose id exists, or is still taken, or came twice in this call, or that has a longest wait.
local function publish_one(n, id, envelope, due, on_duplicate)
  local stored = redis.call('HGET', messages, id)
  if not stored then return store_unless_ended(n, id, envelope, due, on_duplicate) end
  local score = redis.call('ZSCORE', scheduled, id) or order_mode and redis.call('ZSCORE', blocked, id)
  local state = score and 'scheduled'
    or lease_of(id) and 'inflight'
    or redis.call('ZSCORE', dead, id) and 'dead'
  local token, delivery, attempt, last_due, mark = parse_record(redis.call('HGET', deliveries, id))
  -- In an order, a message held back by a limit of its key is in `scheduled` for when it can begin.
  local current_due = to_time(is_ordered and score and last_due or score or replaced_until(mark) or last_due or now)

  if not state then
    -- An envelope in no set, left by damage from outside: it would never be delivered.
    add('repaired', 1)
    forget({ id })
    if order_mode then note(leave_line(id)) end
    return store(n, id, envelope, due)
  end
  if on_duplicate == 's' then
    if state ~= 'scheduled' or due >= current_due then return IGNORED, current_due end
    move(id, due)
    note(head_due())
    return IGNORED, due
  end
  if on_duplicate == 'i' then return IGNORED, current_due end
  if on_duplicate ~= 'r' then return REJECTED, current_due end

  -- A message that was delivered no longer has such a mark, so its wait begins anew.
  local first
  due, first = limited(n, due, mark)
  redis.call('HSET', messages, id, envelope)
  if has_tags then untag({ id }) end
  if tags_of[n] then tag({ n }) end
  if state == 'inflight' then
    -- It must not run twice at once: the running delivery keeps its receipt, and its settle schedules the new message.
    local replaced = string.format('r%d', due) .. (first or '')
    redis.call('HSET', deliveries, id, format_record(token, delivery, attempt, last_due or now, replaced))
    return REPLACED, due
  end
  if state == 'dead' then redis.call('ZREM', dead, id) end
  redis.call('HDEL', errors, id)
  if first then
    redis.call('HSET', deliveries, id, format_record(NO_TOKEN, 0, 0, due, first))
  else
    redis.call('HDEL', deliveries, id)
  end
  if order_mode then
    redis.call('ZREM', scheduled, id)
    note(leave_line(id))
  end
  enqueue(id, due)
  return REPLACED, due
end
