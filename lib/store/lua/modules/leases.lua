-- Reads messages in flight in the order in which their leases end: read anew until this changes nothing.
-- @exports bring_out_first
-- @use shared-records (bring_out)

-- Brings out the claims among the first `most` of these entries of `inflight`, as many as that takes. Returns whether there was one.
local function bring_out_first(entries, most)
  local count, is_changed = 0, false
  for i = 1, #entries do
    if count >= most then break end
    local brought_out = string.byte(entries[i]) == 0 and bring_out(string.sub(entries[i], 2))
    if brought_out then is_changed = true end
    count = count + (brought_out or 1)
  end
  return is_changed
end
