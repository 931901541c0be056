-- A record in `deliveries` is '[mark ]token delivery attempt due[ crashes]':
--   token     the receipt's token while the message is in flight, NO_TOKEN if it is not; text without a space
--   delivery  deliveries so far
--   attempt   attempts spent so far
--   due       due time of the latest delivery, of the next one while the message waits for it; epoch ms
--   crashes   deliveries in a row that ended with their lease and not with an outcome, the current one not included; left out
--             if there are none
--   mark      'c': cancelled while in flight; 'r<ms>': replaced while in flight, the new message is due then; 'f<ms>': published
--             first then, of a message with a longest wait that was not delivered yet, or behind 'r<ms>' of the one that has
--             replaced it; in front, so that a record without one begins with its token
-- A record that is missing or damaged reads as that of a message that was never delivered. A number above MAX_TIME has lost its
-- last digits, or is no time.
-- @exports NO_TOKEN, parse_record, replaced_until, first_mark, format_record
-- @use times (MAX_TIME)

local NO_TOKEN = '0'

local function parse_record(record)
  if not record then return NO_TOKEN, 0, 0, nil, '', 0 end
  -- Behind a mark is a token, which has a dot or is that of no delivery; behind a token is a number.
  local mark, rest = string.match(record, '^(%a%S*) +(.*)$')
  if rest and not string.find(rest, '^%S*%.') and not string.find(rest, '^0 ') then
    mark, rest = nil, nil
  end
  local token, delivery, attempt, due, crashes = string.match(rest or record, '^([^ ]+) (%d+) (%d+) (%d+) ?(%d*)$')
  if not token then return NO_TOKEN, 0, 0, nil, '', 0 end
  delivery, attempt, due, crashes = tonumber(delivery), tonumber(attempt), tonumber(due), tonumber(crashes) or 0
  if delivery > MAX_TIME or attempt > MAX_TIME or due > MAX_TIME or crashes > MAX_TIME then
    return NO_TOKEN, 0, 0, nil, '', 0
  end
  return token, delivery, attempt, due, mark or '', crashes
end

-- Returns when the message that has replaced this one is due; nil if none has.
local function replaced_until(mark)
  local due = tonumber(string.match(mark, '^r(%d+)f?%d*$'))
  return due and due <= MAX_TIME and due or nil
end

-- Returns the part of a mark that says when the message that waits, or will, was published first; nil if there is none.
local function first_mark(mark) return string.match(mark, 'f%d+$') end

local function format_record(token, delivery, attempt, due, mark)
  local record = string.format('%s %d %d %d', token, delivery, attempt, due)
  return mark and mark .. ' ' .. record or record
end
