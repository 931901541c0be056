-- Redis keeps a small hash or set as a list that it searches from its beginning, by default up to 128 entries (512 of a hash) of 64 bytes,
-- which takes most of the time of a call that fills it. One that has ever held a longer entry is no such list any more: so
-- this one is written before many others, and removed.
-- @exports MOST_LISTED, LONG_ENTRY
-- @needs ARGV, FIRST

local MANY = 24
local MOST_LISTED = 512
-- false in a call of few messages.
local LONG_ENTRY = (#ARGV - FIRST + 1) / 2 >= MANY and string.rep('\0', 65)
