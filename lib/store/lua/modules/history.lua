-- A failure is stored as JSON that ends with its history, '…,"history":[{…},{…}]}': the failed attempts, the last one first. An entry has no
-- brace inside, and no text in JSON can contain the name of the property with its quotes. Other programs may write white space.
-- @exports with_history
-- @needs errors

local HISTORY, MAX_HISTORY = '"history"%s*:%s*%[', 10

-- Returns the failure with the stored history of the message behind its own.
local function with_history(id, failure)
  local stored = redis.call('HGET', errors, id)
  local _, stored_end = string.find(stored or '', HISTORY)
  local _, own_end = string.find(failure, HISTORY)
  if not stored_end or not own_end then return failure end
  local entries = {}
  for entry in string.gmatch(string.sub(failure, own_end + 1) .. string.sub(stored, stored_end + 1), '{[^}]*}') do
    entries[#entries + 1] = entry
    if #entries == MAX_HISTORY then break end
  end
  return string.sub(failure, 1, own_end) .. table.concat(entries, ',') .. ']}'
end
