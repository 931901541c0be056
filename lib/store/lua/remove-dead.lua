-- Removes dead letters for good.
--
-- KEYS  dead ZSET, messages HASH, deliveries HASH, errors HASH, keyed ZSET,
--       scheduled ZSET, inflight ZSET, blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, meta HASH, tags HASH, tagged ZSET,
--       answered STRING (the caller's latest call), claims HASH
-- ARGV  wake_command, channel, sequence, ... (2 a dead letter: stored id, its death, epoch ms)
-- Reply {now_us, one digit a dead letter: 1 removed, 0 there is none of that death}
-- Roles operator
-- Cost  O(n log size), n <= 200
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer.

-- @use now (now_us)
local asked = redis.call('HMGET', meta, '', 'tagged')
-- @use forget (forget)
-- @use answered (earlier_answer, remember)
local order_mode = redis.call('HGET', places, 'mode')
-- @use remove (assert_removable, remove)
-- @use dead-ids (dead_ids, ids_of)

local answer = earlier_answer()
if answer then return { now_us, answer } end
assert_removable()

local found, statuses = dead_ids(FIRST, 2)
remove(dead, ids_of(found), forget)
statuses = table.concat(statuses)
remember(statuses)
return { now_us, statuses }
