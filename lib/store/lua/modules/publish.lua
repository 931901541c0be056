-- Publishes the messages behind the other arguments, and replies: so it comes last in a script. `publish` is nothing else; `publish-occurrence`
-- does it as a whole, or not at all.
-- @needs scheduled, inflight, messages, deliveries, claims, dead, errors, keyed, places, finished, answered
-- @needs order_mode, is_ordered, ARGV, FIRST
-- @use now (now_us, now_up)
-- @use times (MAX_TIME)
-- @use message-columns (due_specs, on_duplicates, waits)
-- @use due-time (due_time)
-- @use head-due (head_due)
-- @use wake (wake)
-- @use answered (REMEMBER_MS, earlier_answer, remember)
-- @use largest (note_length)
-- @use outgrown-tables (hasten_moves)
-- @use count (add)
-- @use finished (has_kept)
-- @use order (reserve_arrivals)
-- @use publish-tags (tags_of, tag)
-- @use earliest (earliest, note)
-- @use publish-one (CREATED, REPLACED, enqueue, publish_one)

local head_before = head_due()

local answer = earlier_answer()
if answer then
  -- WAIT covers only the writes of its own connection, and a repeat may come over another one than the first run.
  redis.call('PEXPIRE', answered, REMEMBER_MS)
  return { now_us, answer }
end

local function refusal(spec) return redis.error_reply('REFUSED a due time is no time: ' .. spec) end

-- Scores are written as text, since Redis formats a number with 17 digits, which takes long.
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

-- By place: the envelopes that exist already, and the ends of messages that are kept. By id: what came in this call. nil if no duplicate
-- is possible.
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

-- Searches all ids at once for those with a key of their own: mostly there are none.
if string.find(table.concat(members), '\0', 1, true) then
  for at = 2, #members, 2 do
    if string.find(members[at], '\0', 1, true) then
      with_key[#with_key + 1] = '0'
      with_key[#with_key + 1] = members[at]
    end
  end
end

-- As modules/types.lua, without a function for each; the types of the others have shown.
if #with_key > 0 or created < total then redis.call('ZCARD', keyed) end
if created < total then
  redis.call('ZCARD', inflight)
  redis.call('ZCARD', dead)
  redis.call('HLEN', messages)
  redis.call('HLEN', deliveries)
  redis.call('HLEN', errors)
  redis.call('HLEN', claims)
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
    local status, due = publish_one(n, id, envelope, due_of_all or dues[n], on_duplicate)
    local is_stored = status == REPLACED or status == CREATED
    if is_stored then created = created + 1 end
    if not is_stored or waits and waits[n] then kept[#kept + 1] = string.format('%d', due) end
    statuses[n] = status
  elseif is_ordered then
    enqueue(ARGV[FIRST + 2 * n - 2], due_of_all or dues[n])
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
