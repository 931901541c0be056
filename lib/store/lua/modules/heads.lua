-- Names the heads of keys. In an ordered topic, `places` has the head of each key: the message that the others of the key wait for.
-- @exports head_field, key_of

local function head_field(key) return 'head:' .. key end

-- Returns the key behind the id; the id itself if there is none.
local function key_of(id) return string.match(id, '%z(.*)$') or id end
