-- Reads the due time of a message: '+ms' from `base` (epoch ms), or epoch ms.
-- @exports due_time

local function due_time(spec, base)
  local due = tonumber(spec)
  if due and string.byte(spec) == 43 then due = due + base end -- 43 is '+'
  return due
end
