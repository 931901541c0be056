-- Removes dead letters for good.
--
-- KEYS  1 dead ZSET   2 messages HASH   3 deliveries HASH   4 errors HASH   5 keyed ZSET
--       6 answered STRING, the caller's latest call
-- ARGV  1 sequence    then 2 a dead letter: stored id, its death (epoch ms)
-- Reply {now_us, one digit a dead letter: 1 removed, 0 there is none of that death}
-- Cost  O(n log size), n <= 200
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer.

-- @include now
local dead, messages, deliveries, errors, keyed, answered = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local sequence = ARGV[1]
-- @include forget
-- @include answered
-- @include types
-- @include dead-ids

local answer = earlier_answer()
if answer then return { now_us, answer } end
assert_sets(dead, keyed)
assert_hashes(messages, deliveries, errors)

local found, statuses = dead_ids(2, 2)
if #found > 0 then
  local ids = ids_of(found)
  redis.call('ZREM', dead, unpack(ids))
  forget(ids)
end
statuses = table.concat(statuses)
remember(statuses)
return { now_us, statuses }
