-- Renews leases.
--
-- KEYS  1 inflight ZSET   2 deliveries HASH
-- ARGV  1 lease (ms)      then 2 a delivery: stored id, token
-- Reply {now_us, one digit a delivery: 1 extended, 0 lost, 2 the message was cancelled}
-- Cost  O(n log size), n <= 200

-- @include now
local inflight, deliveries = KEYS[1], KEYS[2]
local lease = tonumber(ARGV[1])
-- @include record

if not (lease and lease >= 0 and lease <= MAX_NUMBER) then
  return redis.error_reply('REFUSED the lease is no number of milliseconds: ' .. ARGV[1])
end
local deadline = now + lease

local ids = {}
for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local records = redis.call('HMGET', deliveries, unpack(ids))

local statuses, members = {}, {}
for n = 1, #ids do
  local current, _, _, _, mark = parse_record(records[n])
  if current == 0 or current ~= tonumber(ARGV[2 * n + 1]) then
    statuses[n] = '0'
  elseif mark == 'c' then
    statuses[n] = '2'
  else
    statuses[n] = '1'
  end
  -- A cancelled message keeps its lease too: its handler may need a while to end, and nothing else may run meanwhile.
  if statuses[n] ~= '0' then
    members[#members + 1] = deadline
    members[#members + 1] = ids[n]
  end
end
if #members > 0 then redis.call('ZADD', inflight, 'XX', unpack(members)) end
return { now_us, table.concat(statuses) }
