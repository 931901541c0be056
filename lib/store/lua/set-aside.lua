-- Makes a dead letter of a message that cannot be claimed or settled, whatever is stored of it. Its envelope stays as it is.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET, meta HASH,
--       blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, answered STRING (the caller's latest call), claims HASH
-- ARGV  wake_command, channel, sequence, id, token (of its delivery; '0' for none: it is due, or its lease has ended), failure (JSON)
-- Reply {now_us, 1 set aside | 0 the delivery is not the current one, or it is neither due nor has its lease ended,
--       the stored id that it has now, '' for none}
-- Roles consumer
-- Cost  O(log size); if the id of a delivery is not text, O(1,000)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer. So a message requeued since stays.

-- @use now (now_us, now)
-- @use record (NO_TOKEN, parse_record, format_record)
-- @use shared-records (SHARED, bring_out)
-- @use lease (lease_of)
-- @use types (assert_sets, assert_hashes)
-- @use count (add)
-- @use text (as_text)
-- @use text-ids (give_text_id)
-- @use head-due (head_due)
-- @use wake (wake)
-- @use answered (earlier_answer, remember)
local order_mode = redis.call('HGET', places, 'mode')
-- @use lines (leave_line)

local CHUNK, LATEST = 100, 1000

local is_aside, aside_id = string.match(earlier_answer() or '', '^(%d)(.*)$')
if is_aside then return { now_us, tonumber(is_aside), aside_id } end
assert_sets(scheduled, inflight, dead, keyed)
assert_hashes(messages, deliveries, errors, meta)

-- Clients read an id that is not text with other characters in place of its bytes, so they cannot name it; the token can.
local function delivered_as_no_text()
  local latest = redis.call('ZREVRANGE', inflight, 0, LATEST - 1)
  for first = 1, #latest, CHUNK do
    local last = math.min(first + CHUNK - 1, #latest)
    local records = redis.call('HMGET', deliveries, unpack(latest, first, last))
    for i = first, last do
      if parse_record(records[i - first + 1]) == token and as_text(latest[i]) ~= latest[i] then return latest[i] end
    end
  end
end

local function is_over(at) return at and tonumber(at) <= now end

local is_meant
if token == NO_TOKEN then
  is_meant = is_over(redis.call('ZSCORE', scheduled, id)) or is_over(lease_of(id))
else
  local field = string.match(token, SHARED)
  if field then bring_out(field) end
  local current = parse_record(redis.call('HGET', deliveries, id))
  if current ~= token then id = delivered_as_no_text() end
  -- A message cancelled or replaced meanwhile ends, or waits for its new time, once its lease has ended.
  is_meant = id and select(5, parse_record(redis.call('HGET', deliveries, id))) == ''
end
if not is_meant then
  remember('0')
  return { now_us, 0, '' }
end

local _, delivery, attempt, due = parse_record(redis.call('HGET', deliveries, id))
local head_before = head_due()
redis.call('ZREM', scheduled, id)
redis.call('ZREM', inflight, id)
local name = give_text_id(id)
-- A message that gets another name has no place any more.
local leaves = order_mode and (order_mode ~= 'block' or name ~= id)
local next_due = leaves and leave_line(id) or nil
id = name
redis.call('ZADD', dead, now, id)
redis.call('HSET', errors, id, failure)
local spent = token == NO_TOKEN and attempt or math.max(0, attempt - 1)
redis.call('HSET', deliveries, id, format_record(NO_TOKEN, delivery, spent, due or now))
add('died', 1)
wake(head_before, next_due)
remember('1' .. id)
return { now_us, 1, id }
