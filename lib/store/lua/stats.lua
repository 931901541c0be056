-- Counts the contents of partitions.
--
-- KEYS  scheduled ZSET, inflight ZSET, dead ZSET, owner STRING, meta HASH, blocked ZSET, finished ZSET, errors HASH, claims HASH, ... (the same
--       of further partitions, which the same node holds)
-- Reply {now_us, then for each partition {scheduled, due, in flight, dead, next due ms or -1, owner or '', blocked, finished,
--       retrying, held until ms or -1, how many of the blocked ones are due, the earliest due ms of those or -1, then the fields of
--       meta and their values}}
-- Roles producer, consumer, operator
-- Flags reads
-- Cost  O(log size) for each partition

-- @use now (now_us, now)
-- @use times (LONGEST, to_time)
-- @use most-deliveries (MOST_DELIVERIES)

local function count(scheduled, inflight, dead, owner, meta, blocked, finished, errors, claims)
  -- They wait too, but not to be claimed.
  local blocked_count = redis.call('ZCARD', blocked)
  local next_due = tonumber(redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')[2])
  local blocked_due = blocked_count > 0 and tonumber(redis.call('ZRANGE', blocked, 0, 0, 'WITHSCORES')[2])
  local is_blocked_late = blocked_due and blocked_due <= now
  local fields = redis.call('HGETALL', meta)
  local held_until
  for i = 1, #fields, 2 do
    if fields[i] == 'held' then held_until = tonumber(fields[i + 1]) end
  end
  local dead_count = redis.call('ZCARD', dead)
  -- A claim whose deliveries share a record is one entry.
  local shared = 0
  local records = redis.call('HGETALL', claims)
  for i = 2, #records, 2 do shared = shared + math.min(tonumber(string.match(records[i], '^%d+')) or 1, MOST_DELIVERIES) - 1 end
  local counts = {
    redis.call('ZCARD', scheduled) + blocked_count,
    next_due and next_due <= now and redis.call('ZCOUNT', scheduled, '-inf', now) or 0,
    redis.call('ZCARD', inflight) + shared,
    dead_count,
    next_due and to_time(next_due) or -1,
    redis.call('GET', owner) or '',
    blocked_count,
    redis.call('ZCARD', finished),
    -- Each dead letter has a failure, and so has each message that is tried again.
    math.max(0, redis.call('HLEN', errors) - dead_count),
    held_until and held_until > now and held_until <= now + LONGEST and to_time(held_until) or -1,
    is_blocked_late and redis.call('ZCOUNT', blocked, '-inf', now) or 0,
    is_blocked_late and to_time(blocked_due) or -1,
  }
  for i = 1, #fields do counts[#counts + 1] = fields[i] end
  return counts
end

local reply = { now_us }
for i = 1, #KEYS, PLACE do reply[#reply + 1] = count(unpack(KEYS, i, i + PLACE - 1)) end
return reply
