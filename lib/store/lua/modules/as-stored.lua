-- Compares a stored value with the one that the caller has seen.
-- @exports is_stored_as

-- Bytes beyond ASCII come back from a client as others if they were no text.
local function in_ascii(text) return (string.gsub(text, '[\128-\255]+', '?')) end

-- `is_first`: '1' if the caller has seen that there is none. Random names differ even without their bytes beyond ASCII.
local function is_stored_as(stored, seen, is_first)
  if is_first == '1' then return not stored end
  return stored and in_ascii(stored) == in_ascii(seen)
end
