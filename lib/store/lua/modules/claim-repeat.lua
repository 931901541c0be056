-- Repeats the answer of a claim whose reply was lost, and keeps what that needs. Functions that a claim does not need are not made: that takes
-- as long as some calls.
-- @exports repeat_claim, keep_handed
-- @needs inflight, messages, deliveries, handed, epoch, order, known, token_start, deadline, is_once, is_repeat, CHUNK
-- @use record (parse_record)
-- @use claim-reply (reply, announced, suspects, taken, numbers_of, announce)

-- Time in ms for which messages handed out at most once are kept for a repeat of the claim.
local KEEP_HANDED = 120000

local repeat_claim, keep_handed

if is_repeat and not is_once then
  -- Returns the number of a delivery of this epoch; nil if the token is of another.
  local function number_of(token)
    return string.sub(token, 1, #token_start) == token_start and tonumber(string.sub(token, #token_start + 1)) or nil
  end

  -- Answers with the deliveries of the first run, with new leases. A message cancelled or replaced meanwhile is left as it is, since the
  -- first run's reply may have arrived after all, and its handler may run: it ends with its delivery or its lease.
  function repeat_claim()
    -- The lost reply's deliveries have the latest leases, unless the outage was long; one that is not found here is
    -- redelivered when its lease ends.
    local latest_leases = redis.call('ZREVRANGE', inflight, 0, 999)
    for first = 1, #latest_leases, CHUNK do
      local ids = {}
      for i = first, math.min(first + CHUNK - 1, #latest_leases) do ids[#ids + 1] = latest_leases[i] end
      local records = redis.call('HMGET', deliveries, unpack(ids))
      for i = 1, #ids do
        local token, delivery, attempt, due, mark, crashes = parse_record(records[i])
        local nth = mark == '' and number_of(token)
        local envelope = nth and nth > known and redis.call('HGET', messages, ids[i])
        if envelope then
          redis.call('ZADD', inflight, deadline, ids[i])
          announce(ids[i], envelope, numbers_of(nth, delivery, attempt, due), crashes)
        end
      end
    end
  end
end

if is_repeat and is_once then
  local handed_before = redis.call('GET', handed) or ''

  -- Answers with the messages that the first run has handed out at most once, if they are still kept.
  function repeat_claim()
    local by, nth, numbers, weights, at = string.match(handed_before, '^([^ ]+) (%d+) ([%d ,]*);([%d,]*)\n()')
    if by ~= epoch or tonumber(nth) ~= order then return end
    for record in string.gmatch(numbers, '[^,]+') do
      local id_length, length, first = string.match(handed_before, '^(%d+) (%d+) ()', at)
      if not first then return end
      local middle, last = first + id_length, first + id_length + length
      announce(string.sub(handed_before, first, middle - 1), string.sub(handed_before, middle, last - 1), record, 0)
      at = last
    end
    for pair in string.gmatch(weights, '%d+,%d+') do suspects[#suspects + 1] = pair end
  end
end

if is_once and not is_repeat then
  -- Keeps the messages that this claim has handed out at most once.
  function keep_handed()
    local parts = { string.format('%s %d %s;%s\n', epoch, order, table.concat(announced, ','), table.concat(suspects, ',')) }
    for n = 1, taken do
      local id, envelope = reply[2 * n + 8], reply[2 * n + 9]
      parts[#parts + 1] = string.format('%d %d ', #id, #envelope)
      parts[#parts + 1] = id
      parts[#parts + 1] = envelope
    end
    redis.call('SET', handed, table.concat(parts), 'PX', KEEP_HANDED)
  end
end
