-- Finds out whether a message is in flight.
-- @exports lease_of
-- @needs claims, inflight
-- @use shared-records (GAP, bring_out)

-- Returns when the lease of a message ends, after it has brought it out; nil if it is not in flight.
local function lease_of(id)
  local lease = redis.call('ZSCORE', inflight, id)
  if lease or redis.call('HLEN', claims) == 0 then return lease end
  local all, listed = redis.call('HGETALL', claims), GAP .. id .. GAP
  for i = 1, #all, 2 do
    -- Another program may have written a record without a lease.
    if string.find(all[i + 1], listed, 1, true) and redis.call('ZSCORE', inflight, '\0' .. all[i]) then
      bring_out(all[i])
      return redis.call('ZSCORE', inflight, id)
    end
  end
  return nil
end
