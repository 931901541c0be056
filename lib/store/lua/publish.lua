-- Stores new messages and schedules them.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET, meta HASH,
--       blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, finished ZSET, endings HASH, tags HASH, tagged ZSET,
--       answered STRING (the caller's latest call), claims HASH
-- ARGV  wake_command, channel, sequence, remember_ms (how long the answer is kept; '' as usual), order_mode ('' none, or what a dead letter does to its key: continue, block),
--       columns (data of the messages, see modules/message-columns.lua),
--       ... (2 a message: stored id, envelope)
-- Reply {now_us, 'base statuses kept'}, with ' new' at its end if meta had not counted a message yet
--       base      epoch ms that delays were added to
--       statuses  nothing if all were created; else a digit a message: 1 created, 2 rejected, 3 ignored, 4 replaced; 5, 6, 7 rejected since the message with this
--                 id is finished: acknowledged, cancelled, delivered at most once
--       kept      due times (epoch ms, with commas) that hold now for those that were there before and stay: one for each
--                 2, 3, 5, 6 and 7, and for each message with a longest wait
-- Roles producer, consumer, operator
-- Flags adds
-- Cost  O(n log size), n <= 200
--
-- Arguments that it cannot use, such as a due time that is not a number, are refused before anything is written.
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer. So a
-- message is not a duplicate of itself, and one that was handled meanwhile does not come back.

-- @use message-columns (on_duplicates, waits, tag_lists)
local is_ordered = order_mode ~= ''
local asked = {}
-- New messages of a topic without an order need none of this. It shows the type of `meta`, too.
if is_ordered or tag_lists ~= '' or waits or on_duplicates ~= 'n' then
  asked = redis.call('HMGET', meta, 'finished', 'tagged')
end
local had_tags = asked[2]
asked[2] = had_tags or tag_lists ~= ''
-- @use publish-begin (total, is_later)
-- @use count
-- @use largest
local created, statuses, kept, is_new, first_due = total, '', '', false, nil
if not is_ordered and tag_lists == '' and not is_later then
  -- @use publish-new
else
  -- @use order-of-topic
  -- @use lines
  -- @use publish-tags
  -- @use earliest
  -- @use publish-status
  local publish_later
  if is_later then
    -- @use publish-one (publish_one)
    publish_later = publish_one
  end
  -- @use publish-each
end
-- @use publish-end
