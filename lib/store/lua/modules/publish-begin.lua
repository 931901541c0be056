-- Looks at the messages of a publish before anything is written: a repeat is answered, and what cannot be used is refused.
-- @exports head_before, total, stored, base, due_of_all, score_of_all, dues, scores, is_later, with_key, are_lists, longest
-- @needs messages, keyed, finished, answered, remember_ms, asked, ARGV, FIRST
-- @use now (now_us, now_up)
-- @use times (MAX_TIME)
-- @use message-columns (due_specs, on_duplicates, own_keys, waits)
-- @use due-time (due_time)
-- @use head-due (head_due)
-- @use answered (time_kept, earlier_answer)
-- @use long-entry (MANY, MOST_LISTED, LONG_ENTRY)

local answer = earlier_answer()
if answer then
  -- WAIT covers only the writes of its own connection, and a repeat may come over another one than the first run.
  redis.call('PEXPIRE', answered, time_kept(remember_ms))
  return { now_us, answer }
end

-- These show the types of their keys, too.
local head_before = head_due()
local stored = redis.call('HLEN', messages)
if own_keys ~= '0' then redis.call('ZCARD', keyed) end

local total = (#ARGV - FIRST + 1) / 2
local base = string.format('%d', now_up)

-- Scores are written as text, since Redis formats a number with 17 digits, which takes long.
local due_of_all, score_of_all
local wrong
local dues, scores
if string.find(due_specs, ',', 1, true) then
  dues, scores = {}, {}
  local last, due, score
  for spec in string.gmatch(due_specs, '[^,]+') do
    if spec ~= last then
      last, due = spec, due_time(spec, now_up)
      if not (due and due >= 0 and due <= MAX_TIME) then
        wrong = spec
        break
      end
      score = string.format('%d', due)
    end
    dues[#dues + 1] = due
    scores[#scores + 1] = score
  end
  if #dues ~= total then wrong = wrong or due_specs end
else
  due_of_all = due_time(due_specs, now_up)
  if due_of_all and due_of_all >= 0 and due_of_all <= MAX_TIME then
    score_of_all = due_of_all == now_up and base or string.format('%d', due_of_all)
  else
    wrong = due_specs
  end
end
if wrong then return redis.error_reply('REFUSED a due time is no time: ' .. wrong) end

-- By place, the messages that are stored one by one: those whose id exists or is still taken, or came before in this call, and those
-- with a longest wait. nil if there are none.
local is_later
if waits or on_duplicates ~= 'n' then
  local known, ended
  if on_duplicates ~= 'n' then
    local ids = {}
    for at = FIRST, #ARGV, 2 do ids[#ids + 1] = ARGV[at] end
    known = redis.call('HMGET', messages, unpack(ids))
    ended = asked[1] and redis.call('ZMSCORE', finished, unpack(ids))
  end
  for n = 1, total do
    local id = ARGV[FIRST + 2 * n - 2]
    if known and (known[n] or known[id] or ended and ended[n]) or waits and waits[n] then
      is_later = is_later or {}
      is_later[n] = true
    end
    if known then known[id] = true end
  end
end

local longest = 0
for at = FIRST + 1, #ARGV, 2 do
  local length = #ARGV[at]
  if length > longest then longest = length end
end

-- Whether the keys that are written to may be lists that would soon be long.
local are_lists = total >= MANY and stored < MOST_LISTED

-- Members of `keyed`: those of the others that have a key of their own. nil if no message has one.
local with_key
if own_keys ~= '0' then
  with_key = are_lists and { '0', LONG_ENTRY } or {}
  local size = #with_key
  for n = 1, total do
    if not (is_later and is_later[n]) and (own_keys == '1' or string.byte(own_keys, n) == 49) then -- 49 is '1'
      with_key[size + 1], with_key[size + 2] = '0', ARGV[FIRST + 2 * n - 2]
      size = size + 2
    end
  end
end
