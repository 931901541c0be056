-- Builds the answer of a claim, message by message.
-- @exports ALONE, HEAD, reply, announced, suspects, taken, bytes, room_for, announce
-- @needs asked, whole
-- @use now (now_us)

-- Number of crashes from which on a message is a suspect, and from which on a suspect runs alone.
local SUSPECT = 2
local ALONE = 3

local reply = { now_us, 1, 0, -1, 0, '', '', '', asked[1] and 1 or 0, '', '' }
-- Number of fields before the messages.
local HEAD = #reply
local announced, suspects = {}, {}
local taken, bytes = 0, 0

-- Returns the room that a message takes after the given number of crashes.
local function room_for(crashes)
  return crashes >= ALONE and whole or crashes >= SUSPECT and 1 or 0
end

-- `told`: what the answer tells of the delivery.
local function announce(id, envelope, told, crashes)
  local weight = room_for(crashes)
  if weight > 0 then suspects[#suspects + 1] = string.format('%d,%d', taken, weight) end
  taken = taken + 1
  announced[#announced + 1] = told
  reply[2 * taken + HEAD - 1], reply[2 * taken + HEAD] = id, envelope
  bytes = bytes + #envelope
end
