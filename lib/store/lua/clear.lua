-- Removes messages of one state: those that wait behind others of their key, and then the first ones.
--
-- KEYS  set ZSET (scheduled or dead), messages HASH, deliveries HASH, errors HASH, keyed ZSET, meta HASH,
--       scheduled ZSET, inflight ZSET, dead ZSET, blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, finished ZSET, endings HASH,
--       tags HASH, tagged ZSET,
--       answered STRING (the caller's latest call), claims HASH
-- ARGV  wake_command, channel, sequence, counter (of meta, that counts those that are cancelled; '' if they are dead)
-- Reply {now_us, removed, 1 there may be more | 0 these were the last}
-- Roles operator
-- Cost  O(log size), removes at most 100, of 256 KiB in all if they are kept
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer. So each
-- removal is counted once.

-- @use now (now_us)
local asked = redis.call('HMGET', meta, 'finished', 'tagged')
-- @use forget (forget)
-- @use answered (earlier_answer, remember)
-- @use finished (keeps)
-- @use finish (head_of, record_of, keepable, finish)
local order_mode = redis.call('HGET', places, 'mode')
-- @use remove (assert_removable, remove)
-- @use count (add)

local LIMIT = 100

-- A page that is not full has all there is; messages that are kept are copied, so they may be too much for one call.
local removed, are_more = string.match(earlier_answer() or '', '^(%d+) (%d)$')
if not removed then
  assert_removable()
  local page = order_mode and set == scheduled and redis.call('ZRANGE', blocked, 0, LIMIT - 1, 'WITHSCORES') or {}
  if #page < 2 * LIMIT then
    local others = redis.call('ZRANGE', set, 0, LIMIT - #page / 2 - 1, 'WITHSCORES')
    for i = 1, #others do page[#page + 1] = others[i] end
  end
  local ids, ending_heads, records = {}, {}, {}
  for i = 1, #page, 2 do ids[#ids + 1] = page[i] end
  if counter == '' then
    remove(set, ids, forget)
  else
    for i = #ids, (keeps and keepable(ids) or #ids) + 1, -1 do ids[i] = nil end
    for i = 1, keeps and #ids or 0 do ending_heads[i], records[i] = head_of('c'), record_of(ids[i], page[2 * i]) end
    remove(set, ids, function() finish(ids, ending_heads, records) end)
    if #ids > 0 then add(counter, #ids) end
  end
  removed = #ids
  are_more = (#page == 2 * LIMIT or removed < #page / 2) and 1 or 0
  remember(removed .. ' ' .. are_more)
end
return { now_us, tonumber(removed), tonumber(are_more) }
