-- Compares reports: whether one of this number is newer than a stored one, which is JSON that begins with '[number,'.
-- @exports is_newer

local function is_newer(number, stored)
  local known = stored and tonumber(string.match(stored, '^%[(%d+),'))
  return not known or tonumber(number) > known
end
