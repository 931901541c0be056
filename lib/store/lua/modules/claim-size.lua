-- Limits how much one claim hands out.
-- @exports proceed, fit
-- @needs messages, most, asked, is_once
-- @use finished (keeps)
-- @use claim-reply (taken, bytes)

local MAX_BYTES, MAX_KEPT_BYTES = 1048576, 262144
-- Messages that are kept are copied.
local max_bytes = is_once and keeps and MAX_KEPT_BYTES or MAX_BYTES
local rounds = 0

-- Whether there is room for more, and time for another round.
local function proceed(most_rounds)
  if taken >= most or bytes >= max_bytes or rounds >= most_rounds then return false end
  rounds = rounds + 1
  return true
end

-- Shortens a list of ids by the size of their messages, to one at least, and returns how many are left. If no large message was ever
-- published, it need not ask for their sizes.
local function fit(ids)
  if not asked[5] and max_bytes == MAX_BYTES then return #ids end
  local total, count = bytes, #ids
  for i = 1, #ids do
    total = total + redis.call('HSTRLEN', messages, ids[i])
    if total > max_bytes and taken + i > 1 then
      count = math.max(i - 1, taken == 0 and 1 or 0)
      break
    end
  end
  for i = count + 1, #ids do ids[i] = nil end
  return count
end
