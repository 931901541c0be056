-- Finds out whether a message is in flight.
-- @exports lease_of
-- @needs claims, inflight
-- @use shared-records (parse_claim, places_of, bring_out)

-- The field of the record that each id is in. Read once, since a call may ask about many.
local fields

local function read_fields()
  fields = {}
  local all = redis.call('HGETALL', claims)
  for i = 1, #all, 2 do
    local left, _, listed = parse_claim(all[i + 1])
    -- Another program may have written a record without a lease.
    if left and redis.call('ZSCORE', inflight, '\0' .. all[i]) then
      for _, id in ipairs(places_of(listed)) do fields[id] = all[i] end
    end
  end
end

-- Returns when the lease of a message ends, after it has brought it out; nil if it is not in flight.
local function lease_of(id)
  local lease = redis.call('ZSCORE', inflight, id)
  if lease then return lease end
  if not fields then read_fields() end
  if not fields[id] then return nil end
  bring_out(fields[id])
  return redis.call('ZSCORE', inflight, id)
end
