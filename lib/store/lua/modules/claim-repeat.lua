-- Repeats the answer of a claim whose reply was lost.
-- @needs inflight, messages, deliveries, claims, handed, owner_start, order, known, token_start, deadline, is_once, CHUNK
-- @use shared-records (bring_out)
-- @use record (parse_record)
-- @use claim-reply (suspects, announce)

-- Returns the number of a delivery of this epoch, and how its token goes on behind that; nil if the token is of another.
local function number_of(token)
  if string.sub(token, 1, #token_start) ~= token_start then return nil end
  local rest = string.sub(token, #token_start + 1)
  local first, place = string.match(rest, '^(%d+)%+?(%d*)$')
  return first and first + (tonumber(place) or 1) - 1, rest
end

-- Answers with the deliveries of the first run, with new leases. A message cancelled or replaced meanwhile is left as it is, since the
-- first run's reply may have arrived after all, and its handler may run: it ends with its delivery or its lease.
local function repeat_deliveries()
  for _, field in ipairs(redis.call('HKEYS', claims)) do
    if (number_of(field) or 0) > known then bring_out(field) end
  end
  -- The lost reply's deliveries have the latest leases, unless the outage was long; one that is not found here is
  -- redelivered when its lease ends.
  local latest_leases = redis.call('ZREVRANGE', inflight, 0, 999)
  for first = 1, #latest_leases, CHUNK do
    local ids = {}
    for i = first, math.min(first + CHUNK - 1, #latest_leases) do ids[#ids + 1] = latest_leases[i] end
    local records = redis.call('HMGET', deliveries, unpack(ids))
    for i = 1, #ids do
      local token, delivery, attempt, due, mark, crashes = parse_record(records[i])
      local nth, rest = number_of(token)
      local envelope = mark == '' and nth and nth > known and redis.call('HGET', messages, ids[i])
      if envelope then
        redis.call('ZADD', inflight, deadline, ids[i])
        announce(ids[i], envelope, string.format('%s %d %d %d', rest, delivery, attempt, due), crashes)
      end
    end
  end
end

-- Answers with the messages that the first run has handed out at most once, if they are still kept.
local function repeat_handed()
  local handed_before = redis.call('GET', handed) or ''
  if string.sub(handed_before, 1, #owner_start) ~= owner_start then return end
  local nth, records, weights, at = string.match(handed_before, '^(%d+) ([%d ,]*);([%d,]*)\n()', #owner_start + 1)
  if tonumber(nth) ~= order then return end
  for record in string.gmatch(records, '[^,]+') do
    local id_length, length, first = string.match(handed_before, '^(%d+) (%d+) ()', at)
    if not first then return end
    local middle, last = first + id_length, first + id_length + length
    announce(string.sub(handed_before, first, middle - 1), string.sub(handed_before, middle, last - 1), record, 0)
    at = last
  end
  for pair in string.gmatch(weights, '%d+,%d+') do suspects[#suspects + 1] = pair end
end

if is_once then repeat_handed() else repeat_deliveries() end
