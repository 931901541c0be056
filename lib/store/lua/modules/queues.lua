-- Messages that must not be claimed yet, since others of their key come first or a limit of it is reached, are in `blocked` by due
-- time, and in `queues` as '<key> NUL <due, 16 digits><arrival, 16 digits><stored id>', all with score 0.
-- @exports in_queue, id_in_queue
-- @use heads (key_of)

local PLACE_LENGTH = 32

-- By parts, since '%s' ends at the NUL of an id.
local function in_queue(id, due, nth) return key_of(id) .. '\0' .. string.format('%016d%016d', due, nth) .. id end

-- Returns the stored id of an entry of this key, and its due time, 16 digits if it was written here.
local function id_in_queue(entry, key)
  return string.sub(entry, #key + 2 + PLACE_LENGTH), string.sub(entry, #key + 2, #key + 1 + PLACE_LENGTH / 2)
end
