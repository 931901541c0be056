-- Removes messages of one state, the first ones first.
--
-- KEYS  set ZSET (scheduled or dead), messages HASH, deliveries HASH, errors HASH, keyed ZSET, meta HASH,
--       answered STRING (the caller's latest call)
-- ARGV  sequence, counter (of meta, that counts them; '' for none)
-- Reply {now_us, removed, 1 there may be more | 0 these were the last}
-- Cost  O(log size), removes at most 100
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer. So what
-- is removed is counted once.

-- @include now
-- @include forget
-- @include answered
-- @include types
-- @include remove
-- @include count

local LIMIT = 100

local removed = tonumber(earlier_answer())
if not removed then
  assert_removable()
  assert_hashes(meta)
  local ids = redis.call('ZRANGE', set, 0, LIMIT - 1)
  removed = #ids
  remove(set, ids)
  if removed > 0 and counter ~= '' then add(counter, removed) end
  remember(removed)
end
return { now_us, removed, removed == LIMIT and 1 or 0 }
