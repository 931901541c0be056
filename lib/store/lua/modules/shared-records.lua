-- The first deliveries that a claim makes can share a record and a lease instead of having one each: what is paid for a batch is paid once. The
-- record is in `claims`, under the epoch of the owner, a dot and the number of the first of them:
--   '<how many are left> <due times, ms, with commas>\0\0<stored id>\0\0<stored id>\0\0', with nothing in place of the id of one that has left
-- The lease is in `inflight`, under '\0<field>', which is no stored id. The token of a delivery is '<field>+<its place>', from 1.
-- A delivery leaves it when it has succeeded. When anything else is asked of one, all that are left get records and leases of their own.
-- @exports SHARED, GAP, parse_claim, places_of, is_shared, bring_out
-- @needs scheduled, blocked, claims, inflight, deliveries
-- @use record (format_record)
-- @use most-deliveries (MOST_DELIVERIES)

-- Token of a delivery that shares a record; captures the field of that.
local SHARED = '^([^ ]+)%+%d+$'
-- No stored id has two of them in a row, or one at an end.
local GAP = '\0\0'

-- Returns how many are left, their due times, and the ids with a gap before, between and behind them; nil if another program has written this.
local function parse_claim(record)
  local head_end = record and string.find(record, GAP, 1, true)
  if not head_end then return nil end
  local left, dues_at = string.match(record, '^(%d+) ()')
  if not left then return nil end
  return tonumber(left), string.sub(record, dues_at, head_end - 1), string.sub(record, head_end)
end

-- Returns the ids by their places; '' for one that has left.
local function places_of(listed)
  local ids, from = {}, #GAP + 1
  local gap = string.find(listed, GAP, from, true)
  while gap and #ids < MOST_DELIVERIES do
    ids[#ids + 1] = string.sub(listed, from, gap - 1)
    from = gap + #GAP
    gap = string.find(listed, GAP, from, true)
  end
  return ids
end

-- Whether a message is in flight with a shared record. This reads all of them, which costs more than all else of most calls.
local function is_shared(id)
  local all = redis.call('HGETALL', claims)
  for i = 1, #all, 2 do
    local is_listed = string.find(all[i + 1], GAP .. id .. GAP, 1, true)
    if is_listed and redis.call('ZSCORE', inflight, '\0' .. all[i]) then return true end
  end
  return false
end

-- Gives the deliveries of a claim that are left records and leases of their own. Returns how many; nil if there is no such claim.
local function bring_out(field)
  local record = redis.call('HGET', claims, field)
  if not record then return nil end
  local lease = redis.call('ZSCORE', inflight, '\0' .. field)
  redis.call('ZREM', inflight, '\0' .. field)
  redis.call('HDEL', claims, field)
  local left, dues, listed = parse_claim(record)
  local ids = left and places_of(listed) or {}
  if #ids == 0 then return 0 end
  local members, fields, place = {}, {}, 0
  local waiting, behind = redis.call('ZMSCORE', scheduled, unpack(ids)), redis.call('ZMSCORE', blocked, unpack(ids))
  for due in string.gmatch(dues, '%d+') do
    place = place + 1
    local id = ids[place]
    -- One that waits was published anew by a process that cannot read this record, and took the old message for damage.
    if id and id ~= '' and not waiting[place] and not behind[place] then
      -- If another program has removed the lease, it has ended.
      members[#members + 1], members[#members + 2] = lease or '0', id
      fields[#fields + 1], fields[#fields + 2] = id, format_record(field .. '+' .. place, 1, 1, due)
    end
  end
  if #fields == 0 then return 0 end
  redis.call('ZADD', inflight, unpack(members))
  redis.call('HSET', deliveries, unpack(fields))
  return #fields / 2
end
