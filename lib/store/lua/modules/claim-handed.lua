-- Keeps the messages that a claim has handed out at most once, in case its reply is lost.
-- @needs handed, owner_start, order
-- @use claim-reply (HEAD, reply, announced, suspects, taken)

-- Time in ms for which they are kept.
local KEEP_HANDED = 120000

local parts = { string.format('%s%d %s;%s\n', owner_start, order, table.concat(announced, ','), table.concat(suspects, ',')) }
for n = 1, taken do
  local id, envelope = reply[2 * n + HEAD - 1], reply[2 * n + HEAD]
  parts[#parts + 1] = string.format('%d %d ', #id, #envelope)
  parts[#parts + 1] = id
  parts[#parts + 1] = envelope
end
redis.call('SET', handed, table.concat(parts), 'PX', KEEP_HANDED)
