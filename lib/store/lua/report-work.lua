-- Stores the work of a process in a minute, for those who look at the fleet, and adds what is new to the history.
--
-- KEYS  work HASH (of the minute), history HASH (of the span that the minute is in), spans HASH
-- ARGV  session, number (of the report), keep (for how long from now, ms), span (minutes of the history that go together; 0:
--       no history is kept), keep_history (ms),
--       ... (2 a topic: topic, JSON that begins with '[number,'; at most 200, with a history 20)
-- Reply {now_us}
-- Roles consumer
-- Flags adds
-- Cost  O(topics)
--
-- Can be run again with the same arguments: a report that is not newer than the stored one changes nothing.

-- @use now (now_us)
-- @use newer (is_newer)

-- Both records are JSON of numbers alone: [number, delivered, acked, retried, dead, greatest lateness, [bucket, count, ...]].
local MAX, BUCKETS = 6, 7
-- A record of the history stays small: four buckets are joined to one that doubles, all up to 1 ms and all beyond 70 minutes to one.
local JOINED, LOWEST, HIGHEST, BEYOND = 4, 8, 96, 164

local function numbers_of(record)
  local numbers = {}
  for number in string.gmatch(record or '', '[%d.]+') do numbers[#numbers + 1] = tonumber(number) or 0 end
  return numbers
end

local function add_lateness(counts, numbers, sign)
  for i = BUCKETS, #numbers - 1, 2 do
    local bucket = math.max(LOWEST, math.ceil(numbers[i] / JOINED) * JOINED)
    if bucket > HIGHEST then bucket = BEYOND end
    counts[bucket] = (counts[bucket] or 0) + sign * numbers[i + 1]
  end
end

local function add_to_history(topic, told, known)
  local stored = numbers_of(redis.call('HGET', history, topic))
  local record = { 0 }
  for i = 2, MAX - 1 do record[i] = (stored[i] or 0) + math.max(0, (told[i] or 0) - (known[i] or 0)) end
  record[MAX] = math.max(stored[MAX] or 0, told[MAX] or 0)
  local counts = {}
  add_lateness(counts, stored, 1)
  add_lateness(counts, told, 1)
  add_lateness(counts, known, -1)
  local buckets = {}
  for bucket, count in pairs(counts) do
    if count > 0 then buckets[#buckets + 1] = bucket end
  end
  table.sort(buckets)
  for i, bucket in ipairs(buckets) do buckets[i] = bucket .. ',' .. counts[bucket] end
  redis.call('HSET', history, topic, '[' .. table.concat(record, ',') .. ',[' .. table.concat(buckets, ',') .. ']]')
end

local fields = {}
for i = FIRST, #ARGV, 2 do fields[#fields + 1] = session .. ' ' .. ARGV[i] end
local known = redis.call('HMGET', work, unpack(fields))
local is_kept = span ~= '0'
for i = 1, #fields do
  local topic, told = ARGV[FIRST + 2 * i - 2], ARGV[FIRST + 2 * i - 1]
  if is_newer(number, known[i]) then
    redis.call('HSET', work, fields[i], told)
    if is_kept then add_to_history(topic, numbers_of(told), numbers_of(known[i])) end
  end
end
redis.call('PEXPIRE', work, keep)
if is_kept then
  redis.call('PEXPIRE', history, keep_history)
  if redis.call('HGET', spans, span) ~= keep_history then redis.call('HSET', spans, span, keep_history) end
end
return { now_us }
