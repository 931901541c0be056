-- Cancels some of the messages that carry a tag, each as `cancel` does. Dead letters stay.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET,
--       meta HASH, blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, finished ZSET, endings HASH, tags HASH, tagged ZSET,
--       answered STRING (the caller's latest call), claims HASH
-- ARGV  wake_command, channel, sequence, tag, after_id (it begins behind this stored id; '' at the first)
-- Reply {now_us, '<cancelled> <in flight> <1 there may be more | 0 these were the last> <stored id of the last one it has looked at>'}
-- Roles producer, consumer, operator
-- Cost  O(log size), looks at 100 at most, of 256 KiB in all if they are kept
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer.

-- @use now (now_us)
-- @use envelopes (has_envelope)
local asked = redis.call('HMGET', meta, 'finished', 'tagged')
-- @use tags (has_tags, carries, list_tagged)
-- @use answered (earlier_answer, remember)
-- @use types (assert_sets, assert_hashes)
-- @use count (add)
-- @use head-due (head_due)
-- @use wake (wake)
-- @use earliest (earliest, note)
-- @use finished (keeps)
-- @use finish (keepable)
local order_mode = redis.call('HGET', places, 'mode')
-- @use cancel (NOT_FOUND, CANCELLED, IN_FLIGHT, cancel_one)

local LIMIT = 100

local answer = earlier_answer()
if answer then return { now_us, answer } end
assert_sets(scheduled, inflight, keyed)
assert_hashes(messages, deliveries, errors)

local ids, stored = {}, {}
if has_tags then ids, stored = list_tagged(tag, after_id, LIMIT) end
local are_more = #ids == LIMIT
for i = #ids, (keeps and keepable(ids) or #ids) + 1, -1 do
  ids[i] = nil
  are_more = true
end
local head_before = head_due()
local counts, stale = { [NOT_FOUND] = 0, [CANCELLED] = 0, [IN_FLIGHT] = 0 }, {}
for i = 1, #ids do
  local id = ids[i]
  -- Another program may have written this entry of the index.
  if carries(stored[i], tag) and has_envelope(id) then
    local result, next_due = cancel_one(id)
    counts[result] = counts[result] + 1
    note(next_due)
  else
    stale[#stale + 1] = tag .. '\0' .. id
  end
end
if #stale > 0 then
  redis.call('ZREM', tagged, unpack(stale))
  add('repaired', #stale)
end
if counts[CANCELLED] > 0 then add('cancelled', counts[CANCELLED]) end
wake(head_before, earliest)
answer = string.format('%d %d %d ', counts[CANCELLED], counts[IN_FLIGHT], are_more and 1 or 0) .. (ids[#ids] or '')
remember(answer)
return { now_us, answer }
