-- Text in UTF-8.
-- @exports as_text

-- Returns how many bytes from `at` on are one character; 0 if none are.
local function character_length(text, at)
  local first, second = string.byte(text, at, at + 1)
  if first < 0x80 then return 1 end
  local length = first >= 0xF0 and 4 or first >= 0xE0 and 3 or 2
  local low = first == 0xE0 and 0xA0 or first == 0xF0 and 0x90 or 0x80
  local high = first == 0xED and 0x9F or first == 0xF4 and 0x8F or 0xBF
  if first < 0xC2 or first > 0xF4 or not second or second < low or second > high then return 0 end
  for i = at + 2, at + length - 1 do
    local byte = string.byte(text, i)
    if not byte or byte < 0x80 or byte > 0xBF then return 0 end
  end
  return length
end

-- Returns the same text, with each byte that is not part of a character as '\xHH'.
local function as_text(id)
  if not string.find(id, '[\128-\255]') then return id end
  local parts, at = {}, 1
  while at <= #id do
    local length = character_length(id, at)
    parts[#parts + 1] = length > 0 and string.sub(id, at, at + length - 1)
      or string.format('\\x%02X', string.byte(id, at))
    at = at + math.max(1, length)
  end
  return table.concat(parts)
end
