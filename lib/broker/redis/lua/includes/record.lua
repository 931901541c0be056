-- A record in `deliveries` is 'token delivery attempt due[ mark]':
--   token     the receipt's token while the message is in flight, 0 when it is not
--   delivery  deliveries so far
--   attempt   attempts spent so far
--   due       due time of the latest delivery, of the next one while the message waits for it; epoch ms
--   mark      'c': cancelled while in flight; 'r<ms>': replaced while in flight, the new message is due then
-- What is missing or damaged reads as a message that was never delivered.
local function parse_record(record)
  if not record then return 0, 0, 0, nil, '' end
  local token, delivery, attempt, due, mark = string.match(record, '^(%d+) (%d+) (%d+) (%d+) ?(.*)$')
  if not token then return 0, 0, 0, nil, '' end
  return tonumber(token), tonumber(delivery), tonumber(attempt), tonumber(due), mark
end

-- When what has replaced the message is due; nil where nothing has.
local function replaced_until(mark)
  return tonumber(string.match(mark, '^r(%d+)$'))
end

local function format_record(token, delivery, attempt, due, mark)
  local record = string.format('%.0f %.0f %.0f %.0f', token, delivery, attempt, due)
  if mark and mark ~= '' then record = record .. ' ' .. mark end
  return record
end
