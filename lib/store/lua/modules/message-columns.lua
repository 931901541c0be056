-- Reads the data of the messages of a publish beside their ids and envelopes.
-- @exports due_specs, on_duplicates, waits, tag_lists
-- @needs columns
-- @use times (MAX_TIME)

-- Each is text in a line of its own. Tags come last, since they can have line breaks.
--   due_specs      one for all, or one a message with commas; '+ms' from now, or epoch ms
--   on_duplicates  a letter for all, or one a message; e reject, i ignore, r replace, s: the sooner of both due times, n: no duplicate is possible
--   max_waits      '' if no message has a longest wait; else one a message with commas, in ms, -1 for none
--   tag_lists      '' if no message has tags; else of each message its tags with NUL behind each, and another NUL
local column = { string.match(columns, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$') }
local due_specs, on_duplicates, tag_lists = column[1], column[2], column[4]

-- The longest waits by place; nil if no message has one.
local waits
if column[3] ~= '' then
  waits = {}
  local place = 0
  for spec in string.gmatch(column[3], '[^,]+') do
    local wait = tonumber(spec)
    if not (wait and wait >= -1 and wait <= MAX_TIME) then
      return redis.error_reply('REFUSED a longest wait is no number of milliseconds: ' .. spec)
    end
    place = place + 1
    if wait >= 0 then waits[place] = wait end
  end
end
