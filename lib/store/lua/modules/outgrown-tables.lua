-- A hash or sorted set that outgrows its table is moved to one of twice the size by Redis, an entry or so with each access.
-- Until all are moved, which takes about as many accesses as there are entries, every access looks into both tables and
-- moves something that no cache of the processor holds: with some hundred thousand entries that costs more than all else.
-- So publishing gets it over with: shortly after the size has passed a power of two, each new message makes some more accesses,
-- to an entry that does not exist. Smaller tables stay in the caches.
-- @needs messages, scheduled, created
-- @use publish-begin (stored)

local LEAST_SIZE, MORE_ACCESSES, SHORTLY = 65536, 4, 1 / 8
-- No stored id is empty.
local NOBODY = ''

local size = stored + created
if created > 0 and size >= LEAST_SIZE then
  local accesses = {}
  for i = 1, created * MORE_ACCESSES do accesses[i] = NOBODY end
  for _, table in ipairs({ { 'HDEL', messages, size }, { 'ZREM', scheduled, redis.call('ZCARD', scheduled) } }) do
    local _, exponent = math.frexp(table[3])
    local outgrown = 2 ^ (exponent - 1)
    if table[3] - outgrown <= outgrown * SHORTLY then redis.call(table[1], table[2], unpack(accesses)) end
  end
end
