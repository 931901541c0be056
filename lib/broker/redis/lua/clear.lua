-- Removes messages of one state: those that wait behind others of their key, and then the first ones.
--
-- KEYS  set ZSET (scheduled or dead), messages HASH, deliveries HASH, errors HASH, keyed ZSET, meta HASH,
--       scheduled ZSET, inflight ZSET, dead ZSET, blocked ZSET, queues ZSET, places HASH, running ZSET,
--       answered STRING (the caller's latest call)
-- ARGV  wake_command, channel, sequence, counter (of meta, that counts them; '' for none)
-- Reply {now_us, removed, 1 there may be more | 0 these were the last}
-- Cost  O(log size), removes at most 100
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer. So what
-- is removed is counted once.

-- @include now
-- @include forget
-- @include answered
-- @include types
-- @include times
-- @include record
-- @include wake
local order_mode = redis.call('HGET', places, 'mode')
-- @include heads
-- @include queues
-- @include order
-- @include limits
-- @include remove
-- @include count

local LIMIT = 100

local removed = tonumber(earlier_answer())
if not removed then
  assert_removable()
  assert_hashes(meta)
  local ids = order_mode and set == scheduled and redis.call('ZRANGE', blocked, 0, LIMIT - 1) or {}
  if #ids < LIMIT then
    for _, id in ipairs(redis.call('ZRANGE', set, 0, LIMIT - #ids - 1)) do ids[#ids + 1] = id end
  end
  removed = #ids
  remove(set, ids)
  if removed > 0 and counter ~= '' then add(counter, removed) end
  remember(removed)
end
return { now_us, removed, removed == LIMIT and 1 or 0 }
