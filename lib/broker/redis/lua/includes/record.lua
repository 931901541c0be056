-- Needs: MAX_TIME.
-- A record in `deliveries` is '[mark ]token delivery attempt due':
--   token     the receipt's token while the message is in flight, 0 when it is not
--   delivery  deliveries so far
--   attempt   attempts spent so far
--   due       due time of the latest delivery, of the next one while the message waits for it; epoch ms
--   mark      'c': cancelled while in flight; 'r<ms>': replaced while in flight, the new message is due then; in front, so
--             that a record without one begins with its token
-- A record that is missing or damaged reads as that of a message that was never delivered. A number above MAX_TIME has lost its
-- last digits, or is no time.


local function parse_record(record)
  if not record then return 0, 0, 0, nil, '' end
  local mark, rest = string.match(record, '^(%a%S*) +(.*)$')
  local token, delivery, attempt, due = string.match(rest or record, '^(%d+) (%d+) (%d+) (%d+)$')
  if not token then return 0, 0, 0, nil, '' end
  token, delivery, attempt, due = tonumber(token), tonumber(delivery), tonumber(attempt), tonumber(due)
  if token > MAX_TIME or delivery > MAX_TIME or attempt > MAX_TIME or due > MAX_TIME then
    return 0, 0, 0, nil, ''
  end
  return token, delivery, attempt, due, mark or ''
end

-- When the message that has replaced this one is due; nil if none has.
local function replaced_until(mark)
  local due = tonumber(string.match(mark, '^r(%d+)$'))
  return due and due <= MAX_TIME and due or nil
end

local function format_record(token, delivery, attempt, due, mark)
  local record = string.format('%d %d %d %d', token, delivery, attempt, due)
  return mark and mark .. ' ' .. record or record
end
