-- Names the heads of keys. In an ordered topic, `places` has the head of each key: the message that the others of the key wait for.
-- @exports head_field, key_of

local function head_field(key) return 'head:' .. key end

-- Returns the key behind the id; the id itself if there is none.
local function key_of(id)
  local at = string.find(id, '\0', 1, true)
  return at and string.sub(id, at + 1) or id
end
