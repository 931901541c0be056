-- Removes messages of one state, the first ones first.
--
-- KEYS  1 scheduled or dead ZSET   2 messages HASH   3 deliveries HASH   4 errors HASH   5 keyed ZSET   6 meta HASH
--       7 answered STRING, the caller's latest call
-- ARGV  1 sequence   2 counter of meta that counts them, '' for none
-- Reply {now_us, removed, 1 there may be more | 0 these were the last}
-- Cost  O(log size), removes at most 100
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer. So what is
-- removed is counted once.

-- @include now
local set, messages, deliveries, errors, keyed, meta, answered = unpack(KEYS)
local sequence, counter = ARGV[1], ARGV[2]
-- @include forget
-- @include answered
-- @include types
-- @include count

local LIMIT = 100

local removed = tonumber(earlier_answer())
if not removed then
  assert_sets(keyed)
  assert_hashes(messages, deliveries, errors, meta)
  local ids = redis.call('ZRANGE', set, 0, LIMIT - 1)
  removed = #ids
  if removed > 0 then
    redis.call('ZREM', set, unpack(ids))
    forget(ids)
    if counter ~= '' then add(counter, removed) end
  end
  remember(removed)
end
return { now_us, removed, removed == LIMIT and 1 or 0 }
