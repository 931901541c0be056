-- Redis keeps a small hash or set as a list that it searches from its beginning, by default up to 128 entries (512 of a hash) of 64 bytes,
-- which takes most of the time of a call that fills it. One that has ever held a longer entry is no such list any more: so
-- this one is written before many others, and removed.
-- @exports MANY, MOST_LISTED, LONG_ENTRY

-- Number of entries from which on a call does so.
local MANY = 24
-- Number of entries from which on one that is there is no list.
local MOST_LISTED = 512
-- 65 bytes.
local LONG_ENTRY = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
