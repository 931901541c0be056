-- Needs: what publish.lua includes and takes.
-- Publishes the messages behind the other arguments. `publish` is nothing else; `publish-occurrence` does it as a whole, or not at all.
local CREATED, REJECTED, IGNORED, REPLACED = '1', '2', '3', '4'
local REJECTED_AS = { a = '5', c = '6', d = '7' }
-- Of what is kept of finished messages.
local MOST_READ = 262144
local head_before = head_due()
local earliest

local answer = earlier_answer()
if answer then
  -- WAIT speaks only of what its own connection has written, and a repeat may come over another one than the first run.
  redis.call('PEXPIRE', answered, REMEMBER_MS)
  return { now_us, answer }
end

local function note(due)
  if due and (not earliest or due < earliest) then earliest = due end
end

-- A message that is in no set.
local function schedule(id, due)
  if order_mode then
    note(line_up(id, due, 0))
  else
    redis.call('ZADD', scheduled, due, id)
    note(due)
  end
end

-- The tags of each message by its number, with NUL between them; nil for those without.
local tags_of, tags_at = {}, 1
for n = 1, tag_lists == '' and 0 or (#ARGV - FIRST + 1) / 2 do
  if string.byte(tag_lists, tags_at) == 0 then
    tags_at = tags_at + 1
  else
    local last = string.find(tag_lists, '\0\0', tags_at, true)
    tags_of[n], tags_at = string.sub(tag_lists, tags_at, last - 1), last + 2
  end
end

-- Has messages be found by their tags; by the numbers of those that carry some, 200 at most.
local function tag(numbers)
  local fields, members = {}, {}
  for i = 1, #numbers do
    local id, text = ARGV[FIRST + 2 * numbers[i] - 2], tags_of[numbers[i]]
    fields[#fields + 1] = id
    fields[#fields + 1] = text
    for _, one in ipairs(split_tags(text)) do
      members[#members + 1] = 0
      members[#members + 1] = one .. '\0' .. id
    end
    if #members >= MANY_MEMBERS or i == #numbers then
      redis.call('ZADD', tagged, unpack(members))
      members = {}
    end
  end
  redis.call('HSET', tags, unpack(fields))
  if not had_tags then redis.call('HSET', meta, 'tagged', '1') end
  had_tags = true
end

-- However often a message is replaced, it is due at most its longest wait after its first publish. Answers the due time and the
-- mark that remembers the first publish. It is never taken to be later than now, whatever a clock or another program has done.
local function limited(due, max_wait, mark)
  local first = first_mark(mark)
  if not max_wait then return due, first end
  local began = math.min(first and tonumber(string.sub(first, 2)) or now_up, now_up)
  return math.min(due, began + max_wait), string.format('f%d', began)
end

local function store(n, id, envelope, due, max_wait)
  local limited_due, mark = limited(due, max_wait, '')
  redis.call('HSET', messages, id, envelope)
  if mark then redis.call('HSET', deliveries, id, format_record(NO_TOKEN, 0, 0, limited_due, mark)) end
  if string.find(id, '\0', 1, true) then redis.call('ZADD', keyed, 0, id) end
  if tags_of[n] then tag({ n }) end
  schedule(id, limited_due)
  return CREATED, limited_due
end

local bytes_read = 0

-- What became of a message that is kept, as the digit of a publish that it rejects and its due time; nil if none is kept. What
-- cannot be read counts as not kept. Endings may be long: once enough of them was read, only that they are there is said.
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

-- The id is not that of a message; it may still be taken by one that has ended.
local function store_unless_ended(n, id, envelope, due, on_duplicate, max_wait)
  if has_kept then
    local rejected, last_due = ending_of(id)
    if rejected and on_duplicate == 'e' then return rejected, last_due end
    if rejected and on_duplicate ~= 'r' then return IGNORED, last_due end
    drop({ id })
  end
  return store(n, id, envelope, due, max_wait)
end

-- The id exists, or is still taken, came twice in this call, or has a longest wait.
local function publish_one(n, id, envelope, due, on_duplicate, max_wait)
  local stored = redis.call('HGET', messages, id)
  if not stored then return store_unless_ended(n, id, envelope, due, on_duplicate, max_wait) end
  local token, delivery, attempt, last_due, mark = parse_record(redis.call('HGET', deliveries, id))

  local score = redis.call('ZSCORE', scheduled, id) or order_mode and redis.call('ZSCORE', blocked, id)
  local state = score and 'scheduled'
    or redis.call('ZSCORE', inflight, id) and 'inflight'
    or redis.call('ZSCORE', dead, id) and 'dead'
  -- What a limit of its key holds back in an order is in `scheduled` for when it may begin.
  local current_due = to_time(is_ordered and score and last_due or score or replaced_until(mark) or last_due or now)

  if not state then
    -- An envelope in no set, left by damage from outside: nobody will ever deliver it.
    add('repaired', 1)
    forget({ id })
    if order_mode then note(leave_line(id)) end
    return store(n, id, envelope, due, max_wait)
  end
  if on_duplicate == 's' then
    if state ~= 'scheduled' or due >= current_due then return IGNORED, current_due end
    move(id, due)
    note(head_due())
    return IGNORED, due
  end
  if on_duplicate == 'i' then return IGNORED, current_due end
  if on_duplicate ~= 'r' then return REJECTED, current_due end

  -- What was delivered has no such mark any more, so its count begins anew.
  local first
  due, first = limited(due, max_wait, mark)
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
  schedule(id, due)
  return REPLACED, due
end

local function refusal(spec) return redis.error_reply('REFUSED a due time is no time: ' .. spec) end

-- Scores are written as text, since Redis turns a number into one with 17 digits, which takes long.
local due_of_all, score_of_all, dues, scores = nil, nil, {}, {}
if string.find(due_specs, ',', 1, true) then
  local last, due, score
  for spec in string.gmatch(due_specs, '[^,]+') do
    if spec ~= last then
      last, due = spec, due_time(spec, now_up)
      if not (due and due >= 0 and due <= MAX_TIME) then return refusal(spec) end
      score = string.format('%d', due)
    end
    dues[#dues + 1] = due
    scores[#scores + 1] = score
  end
else
  due_of_all = due_time(due_specs, now_up)
  if not (due_of_all and due_of_all >= 0 and due_of_all <= MAX_TIME) then return refusal(due_specs) end
  score_of_all = string.format('%d', due_of_all)
end

-- The longest waits by place; nil if no message has one.
local waits
if max_waits ~= '' then
  waits = {}
  local place = 0
  for spec in string.gmatch(max_waits, '[^,]+') do
    local wait = tonumber(spec)
    if not (wait and wait >= -1 and wait <= MAX_TIME) then
      return redis.error_reply('REFUSED a longest wait is no number of milliseconds: ' .. spec)
    end
    place = place + 1
    if wait >= 0 then waits[place] = wait end
  end
end

-- By place: the envelopes that are there already, and when those have ended that are kept. By id: what came in this call. nil if
-- there can be neither.
local known, ended
if on_duplicates ~= 'n' then
  local ids = {}
  for at = FIRST, #ARGV, 2 do ids[#ids + 1] = ARGV[at] end
  known = redis.call('HMGET', messages, unpack(ids))
  ended = has_kept and redis.call('ZMSCORE', finished, unpack(ids))
end

local total, created, longest = 0, 0, 0
local members, with_key, with_tags, is_later = {}, {}, {}, {}
for at = FIRST, #ARGV, 2 do
  local id, length = ARGV[at], #ARGV[at + 1]
  total = total + 1
  if length > longest then longest = length end
  if waits and waits[total] then
    if known then known[id] = true end
    is_later[total] = true
  elseif known and (known[total] or known[id] or ended and ended[total]) then
    is_later[total] = true
  else
    if known then known[id] = true end
    members[2 * created + 1] = score_of_all or scores[total]
    members[2 * created + 2] = id
    if dues[total] and not is_ordered then note(dues[total]) end
    if tags_of[total] then with_tags[#with_tags + 1] = total end
    created = created + 1
  end
end

-- All ids are searched at once for those with a key of their own: mostly there are none.
if string.find(table.concat(members), '\0', 1, true) then
  for at = 2, #members, 2 do
    if string.find(members[at], '\0', 1, true) then
      with_key[#with_key + 1] = '0'
      with_key[#with_key + 1] = members[at]
    end
  end
end

-- As includes/types.lua, without a function for each; the types of the others have shown.
if #with_key > 0 or created < total then redis.call('ZCARD', keyed) end
if created < total then
  redis.call('ZCARD', inflight)
  redis.call('ZCARD', dead)
  redis.call('HLEN', messages)
  redis.call('HLEN', deliveries)
  redis.call('HLEN', errors)
end

-- New ones are written with one command for all, and the others one by one. The first command asks for the type of
-- `messages` itself.
local statuses, kept = {}, {}
if created == total then
  redis.call('HSET', messages, unpack(ARGV, FIRST))
elseif created > 0 then
  local fields = {}
  for n = 1, total do
    if not is_later[n] then
      fields[#fields + 1] = ARGV[FIRST + 2 * n - 2]
      fields[#fields + 1] = ARGV[FIRST + 2 * n - 1]
    end
  end
  redis.call('HSET', messages, unpack(fields))
end
note_length(longest)
if is_ordered and redis.call('HGET', places, 'mode') ~= order_mode then redis.call('HSET', places, 'mode', order_mode) end
if created > 0 then
  if not is_ordered then
    if due_of_all then note(due_of_all) end
    redis.call('ZADD', scheduled, unpack(members))
  end
  if #with_key > 0 then redis.call('ZADD', keyed, unpack(with_key)) end
  if #with_tags > 0 then tag(with_tags) end
end
if is_ordered then reserve_arrivals(total) end
for n = 1, total do
  statuses[n] = CREATED
  if is_later[n] then
    local id, envelope = ARGV[FIRST + 2 * n - 2], ARGV[FIRST + 2 * n - 1]
    local on_duplicate = #on_duplicates == 1 and on_duplicates or string.sub(on_duplicates, n, n)
    local max_wait = waits and waits[n]
    local status, due = publish_one(n, id, envelope, due_of_all or dues[n], on_duplicate, max_wait)
    local is_stored = status == REPLACED or status == CREATED
    if is_stored then created = created + 1 end
    if not is_stored or max_wait then kept[#kept + 1] = string.format('%d', due) end
    statuses[n] = status
  elseif is_ordered then
    schedule(ARGV[FIRST + 2 * n - 2], due_of_all or dues[n])
  end
end
local is_new = false
if created > 0 then
  is_new = add('published', created) == created
  hasten_moves(created)
end
answer = string.format('%d ', now_up) .. table.concat(statuses) .. ' ' .. table.concat(kept, ',')
if is_new then answer = answer .. ' new' end
remember(answer)
wake(head_before, earliest)
return { now_us, answer }
