-- A hash or sorted set that outgrows its table is moved to one of twice the size by Redis, an entry or so with each access.
-- Until all are moved, which takes about as many accesses as there are entries, every access looks into both tables and
-- moves something that no cache of the processor holds: with some hundred thousand entries that costs more than all else.
-- So publishing gets it over with: shortly after the size has passed a power of two, each new message makes some more accesses,
-- to an entry that does not exist. Smaller tables stay in the caches.
-- @exports hasten_moves
-- @needs messages, scheduled

local LEAST_SIZE, MORE_ACCESSES, SHORTLY = 65536, 4, 1 / 8
-- No stored id is empty.
local NOBODY = ''

local function hasten_move(command, key, size, accesses)
  local _, exponent = math.frexp(size)
  local outgrown = 2 ^ (exponent - 1)
  if size - outgrown <= outgrown * SHORTLY then redis.call(command, key, unpack(accesses)) end
end

-- Call this once `added` messages were stored, 200 at most.
local function hasten_moves(added)
  local size = redis.call('HLEN', messages)
  if size < LEAST_SIZE then return end
  local accesses = {}
  for i = 1, added * MORE_ACCESSES do accesses[i] = NOBODY end
  hasten_move('HDEL', messages, size, accesses)
  hasten_move('ZREM', scheduled, redis.call('ZCARD', scheduled), accesses)
end
