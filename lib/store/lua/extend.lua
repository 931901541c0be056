-- Renews leases.
--
-- KEYS  inflight ZSET, scheduled ZSET, deliveries HASH, answered STRING (the caller's latest call), claims HASH, blocked ZSET
-- ARGV  sequence, lease (ms), ... (2 a delivery: stored id, token)
-- Reply {now_us, one digit a delivery: 1 extended, 0 lost, 2 the message was cancelled}
-- Roles consumer
-- Cost  O(n log size), n <= 200
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer. So a delayed copy changes no lease
-- that has a new length by now.

-- @use now (now_us, now)
local lease_ms = tonumber(lease)
-- @use times (MAX_TIME)
-- @use record (NO_TOKEN, parse_record)
-- @use shared-records (SHARED, bring_out)
-- @use answered (earlier_answer, remember)

local answer = earlier_answer()
if answer then return { now_us, answer } end
if not (lease_ms and lease_ms >= 0 and lease_ms <= MAX_TIME) then
  return redis.error_reply('REFUSED the lease is no number of milliseconds: ' .. lease)
end
local deadline = now + lease_ms

local ids = {}
for i = FIRST, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
  local field = string.match(ARGV[i + 1], SHARED)
  if field then bring_out(field) end
end
local records = redis.call('HMGET', deliveries, unpack(ids))

local statuses, members = {}, {}
for n = 1, #ids do
  local current, _, _, _, mark = parse_record(records[n])
  if current == NO_TOKEN or current ~= ARGV[FIRST + 2 * n - 1] then
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
statuses = table.concat(statuses)
remember(statuses)
return { now_us, statuses }
