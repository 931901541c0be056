-- Reads the data of the messages of a publish beside their ids and envelopes.
-- @exports due_specs, on_duplicates, own_keys, waits, tag_lists
-- @needs columns
-- @use times (MAX_TIME)

-- Each is text in a line of its own. Tags come last, since they can have line breaks.
--   due_specs      one for all, or one a message with commas; '+ms' from now, or epoch ms
--   on_duplicates  a letter for all, or one a message; e reject, i ignore, r replace, s: the sooner of both due times, n: no duplicate is possible
--   own_keys       a digit for all, or one a message; 1: it has a key of its own
--   max_waits      '' if no message has a longest wait; else one a message with commas, in ms, -1 for none
--   tag_lists      '' if no message has tags; else of each message its tags with NUL behind each, and another NUL
local end_of_dues = string.find(columns, '\n', 1, true)
local end_of_letters = string.find(columns, '\n', end_of_dues + 1, true)
local end_of_keys = string.find(columns, '\n', end_of_letters + 1, true)
local end_of_waits = string.find(columns, '\n', end_of_keys + 1, true)
local due_specs = string.sub(columns, 1, end_of_dues - 1)
local on_duplicates = string.sub(columns, end_of_dues + 1, end_of_letters - 1)
local own_keys = string.sub(columns, end_of_letters + 1, end_of_keys - 1)
local tag_lists = string.sub(columns, end_of_waits + 1)

-- The longest waits by place; nil if no message has one.
local waits
if end_of_waits > end_of_keys + 1 then
  waits = {}
  local place = 0
  for spec in string.gmatch(string.sub(columns, end_of_keys + 1, end_of_waits - 1), '[^,]+') do
    local wait = tonumber(spec)
    if not (wait and wait >= -1 and wait <= MAX_TIME) then
      return redis.error_reply('REFUSED a longest wait is no number of milliseconds: ' .. spec)
    end
    place = place + 1
    if wait >= 0 then waits[place] = wait end
  end
end
