-- Reads messages in flight in the order in which their leases end.
-- @exports is_claim, without_claims
-- @use shared-records (bring_out)

-- Whether a member of `inflight` is the lease of a claim.
local function is_claim(member) return string.byte(member) == 0 end

-- Returns the ids that `read` finds in `inflight`, after it has brought out the claims among the first `most`, as many as it takes.
local function without_claims(read, most)
  local members, count, is_changed = read(), 0, false
  for i = 1, #members do
    if count >= most then break end
    local is_one = is_claim(members[i])
    is_changed = is_changed or is_one
    count = count + (is_one and bring_out(string.sub(members[i], 2)) or 1)
  end
  if not is_changed then return members end
  local ids = {}
  for _, member in ipairs(read()) do
    if not is_claim(member) then ids[#ids + 1] = member end
  end
  return ids
end
