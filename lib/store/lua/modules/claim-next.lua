-- Takes the next messages that a claim hands out: those whose lease has ended, or those that are due.
-- @exports ids, dues, listed, is_last
-- @needs scheduled, messages, keyed, most, asked, is_once, now_text, max_bytes, next_due, ended_ids, ended_of, CHUNK
-- @use times (to_time)
-- @use claim-mode (has_keys)
-- @use finished (keeps)
-- @use key-limits (permitted)
-- @use claim-reply (taken, bytes)

-- `dues`, as text, is nil for those whose lease has ended; `listed` are the same with commas.
local ids, dues, listed = {}, nil, nil
-- Whether there are no more of that kind, or no room for them.
local is_last
local limit = math.min(CHUNK, most - taken)
local head, found
if ended_ids then
  ids = ended_ids(limit)
else
  -- One more than it hands out is due next.
  head = redis.call('ZRANGEBYSCORE', scheduled, '-inf', now_text, 'WITHSCORES', 'LIMIT', '0', limit == 1 and '2' or limit + 1)
  found, dues = #head / 2, {}
  for i = 1, math.min(found, limit) do ids[i], dues[i] = head[2 * i - 1], head[2 * i] end
end
-- The list gets shorter by the size of the messages, to one at least. If no large message was ever published, it need not ask for their sizes.
local count = #ids
if asked[5] or is_once and keeps then
  local total = bytes
  for i = 1, #ids do
    total = total + redis.call('HSTRLEN', messages, ids[i])
    if total > max_bytes and taken + i > 1 then
      count = math.max(i - 1, taken == 0 and 1 or 0)
      break
    end
  end
  for i = count + 1, #ids do ids[i] = nil end
end
is_last = count < limit
if ended_ids then
  if count > 0 then ids = ended_of(ids) end
elseif count > 0 then
  -- They are sorted: mostly this is the only look at them. 45 is '-'.
  for i = 1, #dues do
    if string.byte(dues[i]) ~= 45 then break end
    dues[i] = '0'
  end
  -- Another program may have written parts of a millisecond.
  listed = table.concat(dues, ',', 1, count)
  if string.find(listed, '.', 1, true) or string.find(listed, 'e', 1, true) then
    for i = 1, count do dues[i] = string.format('%d', to_time(dues[i])) end
    listed = table.concat(dues, ',', 1, count)
  end
  if taken > 0 then redis.call('ZCARD', keyed) end
  next_due = found > count and head[2 * count + 2] or nil
  is_last = is_last or found <= limit
  if has_keys then
    redis.call('ZREMRANGEBYRANK', scheduled, 0, count - 1)
    ids, dues = permitted(ids, dues)
    if #ids < count then listed = table.concat(dues, ',') end
  end
end
