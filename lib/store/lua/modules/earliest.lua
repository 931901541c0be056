-- Notes what becomes claimable in this call.
-- @exports earliest, note

-- Due time of the first message of that.
local earliest

local function note(due)
  if due and (not earliest or due < earliest) then earliest = due end
end
