-- What becomes claimable in this call.
-- @exports earliest, note

-- When the first of it is due.
local earliest

local function note(due)
  if due and (not earliest or due < earliest) then earliest = due end
end
