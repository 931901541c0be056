-- Whether something is stored as the caller has seen it.
-- @exports is_stored_as

-- What is not ASCII comes back from a client as other bytes if it was no text.
local function in_ascii(text) return (string.gsub(text, '[\128-\255]+', '?')) end

-- `is_first`: '1' if the caller has seen that nothing is. Names that are drawn differ without what is not ASCII.
local function is_stored_as(stored, seen, is_first)
  if is_first == '1' then return not stored end
  return stored and in_ascii(stored) == in_ascii(seen)
end
