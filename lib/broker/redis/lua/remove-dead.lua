-- Removes dead letters for good.
--
-- KEYS  dead ZSET, messages HASH, deliveries HASH, errors HASH, keyed ZSET,
--       scheduled ZSET, inflight ZSET, blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, meta HASH, tags HASH, tagged ZSET,
--       answered STRING (the caller's latest call)
-- ARGV  wake_command, channel, sequence, ... (2 a dead letter: stored id, its death, epoch ms)
-- Reply {now_us, one digit a dead letter: 1 removed, 0 there is none of that death}
-- Cost  O(n log size), n <= 200
--
-- May be run again with the same arguments: the sequence tells a repeat, which gets the first run's answer.

-- @include now
local asked = redis.call('HMGET', meta, '', 'tagged')
-- @include tags
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
-- @include dead-ids

local answer = earlier_answer()
if answer then return { now_us, answer } end
assert_removable()

local found, statuses = dead_ids(FIRST, 2)
remove(dead, ids_of(found), forget)
statuses = table.concat(statuses)
remember(statuses)
return { now_us, statuses }
