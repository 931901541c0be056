-- Stores messages of any kind: new ones with one command for all, unless they are lined up, and the others one by one.
-- @needs scheduled, inflight, messages, deliveries, claims, dead, errors, keyed, places
-- @needs order_mode, is_ordered, publish_later, created, statuses, kept, is_new, first_due, ARGV, FIRST
-- @use publish-begin (total, due_of_all, score_of_all, dues, scores, is_later, are_lists, longest)
-- @use message-columns (on_duplicates, waits, tag_lists)
-- @use count (add)
-- @use largest (note_length)
-- @use earliest (earliest, note)
-- @use publish-tags (tags_of, tag)
-- @use line-up-new (line_up_new)
-- @use long-entry (LONG_ENTRY)
-- @use publish-status (CREATED, REPLACED)

if is_later then
  redis.call('ZCARD', keyed)
  redis.call('ZCARD', inflight)
  redis.call('ZCARD', dead)
  redis.call('HLEN', deliveries)
  redis.call('HLEN', claims)
  redis.call('HLEN', errors)
end

local members, noted = are_lists and { '0', LONG_ENTRY } or {}, nil
local size = #members
for n = 1, is_ordered and 0 or total do
  if not (is_later and is_later[n]) then
    local due = due_of_all or dues[n]
    members[size + 1], members[size + 2] = score_of_all or scores[n], ARGV[FIRST + 2 * n - 2]
    size = size + 2
    if due ~= noted then
      noted = due
      note(due)
    end
  end
end
-- Mostly all are new.
local fields, with_tags = ARGV, {}
local first_field = FIRST
if is_later then
  fields, first_field, created = {}, 1, 0
end
for n = 1, (is_later or tag_lists ~= '') and total or 0 do
  if not (is_later and is_later[n]) then
    if is_later then
      fields[2 * created + 1], fields[2 * created + 2] = ARGV[FIRST + 2 * n - 2], ARGV[FIRST + 2 * n - 1]
      created = created + 1
    end
    if tags_of[n] then with_tags[#with_tags + 1] = n end
  end
end

if is_ordered and redis.call('HGET', places, 'mode') ~= order_mode then redis.call('HSET', places, 'mode', order_mode) end
if created > 0 then
  redis.call('HSET', messages, unpack(fields, first_field))
  if not is_ordered then
    redis.call('ZADD', scheduled, unpack(members))
    if are_lists then redis.call('ZREM', scheduled, LONG_ENTRY) end
  end
  if #with_tags > 0 then tag(with_tags) end
end
note_length(longest)

-- Those that wait in an order are lined up together, up to the next one that is published by itself: all keep their order.
local first_waiting = 1
local digits, dues_kept = {}, {}
for n = 1, is_later and total or 0 do
  if not is_later[n] then
    digits[n] = CREATED
  else
    if is_ordered and first_waiting < n then note(line_up_new(first_waiting, n - 1)) end
    first_waiting = n + 1
    local id, due = ARGV[FIRST + 2 * n - 2], due_of_all or dues[n]
    local on_duplicate = #on_duplicates == 1 and on_duplicates or string.sub(on_duplicates, n, n)
    local status, due_now = publish_later(n, id, ARGV[FIRST + 2 * n - 1], due, on_duplicate)
    local is_stored = status == REPLACED or status == CREATED
    if is_stored then created = created + 1 end
    if not is_stored or waits and waits[n] then dues_kept[#dues_kept + 1] = string.format('%d', due_now) end
    digits[n] = status
  end
end
if is_ordered and first_waiting <= total then note(line_up_new(first_waiting, total)) end
if created > 0 then is_new = add('published', created) == created end
if is_later then statuses, kept = table.concat(digits), table.concat(dues_kept, ',') end
first_due = earliest
