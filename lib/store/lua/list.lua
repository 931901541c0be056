-- Lists messages of one state in order of their scores, equal ones in order of the bytes of their stored ids.
--
-- KEYS  set ZSET (scheduled, inflight or dead), messages HASH, deliveries HASH, errors HASH, keyed ZSET, scheduled ZSET, claims HASH, blocked ZSET
-- ARGV  limit, max_bytes (after which to stop), since (lowest score; '-inf' for all),
--       till (end of the scores, itself not included; 'now' for all up to now, 'inf' for all),
--       fields (letters: e envelope, d deliveries, attempts and due time of the latest delivery, f failure),
--       is_dead ('1' if the set is that of dead letters),
--       after_score, after_id (the page begins behind this place; '' for both: at the first)
-- Reply {now_us, now ms, 1 there may be more | 0 these were the last, then for each message: stored id, score (text), and
--       the fields asked for: envelope or nil, deliveries, attempts, due ms or -1, failure JSON or ''}
-- Roles consumer, operator
-- Flags reads
-- Cost  O(limit + log² size), limit <= 200; stops early once envelopes and failures add up to the bytes given, <= 1 MiB
--
-- Can be run again with the same arguments: it gives ids to dead letters once, and changes nothing else.

-- @use now (now_us, now)
-- @use record (parse_record)
local inflight = set
-- @use leases (bring_out_first)
-- @use types (assert_sets, assert_hashes)
-- @use text (as_text)
-- @use text-ids (give_text_id)

-- Whether `a` comes before `b` in the order of bytes. Lua's own comparison goes by the server's locale.
local function precedes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Returns the rank of the first entry of the page, behind a place whose message may be gone. So pages skip no entry that was
-- there all along, whatever comes and goes meanwhile.
local function rank_after()
  local low = redis.call('ZCOUNT', set, '-inf', '(' .. after_score)
  local high = redis.call('ZCOUNT', set, '-inf', after_score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if precedes(after_id, redis.call('ZRANGE', set, middle, middle)[1]) then high = middle else low = middle + 1 end
  end
  return low
end

-- Gives text ids to dead letters whose ids are not text, so that clients can name them. A message that waits or is in flight
-- gets one when it is claimed. `page` is a list of ids and scores, alternating.
local function give_text_ids(page)
  for i = 1, #page, 2 do
    local id = page[i]
    if as_text(id) ~= id then
      assert_sets(keyed)
      assert_hashes(messages, deliveries, errors)
      page[i] = give_text_id(id)
      redis.call('ZREM', set, id)
      redis.call('ZADD', set, page[i + 1], page[i])
    end
  end
end

local size, most_bytes = tonumber(limit), tonumber(max_bytes)
local ends_at = till == 'now' and now + 1 or tonumber(till)
local with_envelope = string.find(fields, 'e', 1, true)
local with_counts = string.find(fields, 'd', 1, true)
local with_failure = string.find(fields, 'f', 1, true)

local first = redis.call('ZCOUNT', set, '-inf', '(' .. since)
if after_id ~= '' then first = math.max(first, rank_after()) end
local page
repeat
  page = redis.call('ZRANGE', set, first, first + size - 1, 'WITHSCORES')
until not bring_out_first(page, #page)
if is_dead == '1' then give_text_ids(page) end

local reply = { now_us, now, #page == 2 * size and 1 or 0 }
local bytes = 0

local function add(value, length)
  reply[#reply + 1] = value
  bytes = bytes + length
end

for i = 1, #page, 2 do
  local id, score = page[i], page[i + 1]
  if till ~= 'inf' and tonumber(score) >= ends_at then
    reply[3] = 0
    break
  end
  if bytes >= most_bytes then
    reply[3] = 1
    break
  end
  add(id, 0)
  add(score, 0)
  if with_envelope then
    -- An id without an envelope is no message; it is listed all the same, since the next page begins behind it.
    local envelope = redis.call('HGET', messages, id)
    add(envelope, #(envelope or ''))
  end
  if with_counts then
    local _, delivery, attempt, due = parse_record(redis.call('HGET', deliveries, id))
    add(delivery, 0)
    add(attempt, 0)
    add(due or -1, 0)
  end
  if with_failure then
    local failure = redis.call('HGET', errors, id) or ''
    add(failure, #failure)
  end
end
return reply
