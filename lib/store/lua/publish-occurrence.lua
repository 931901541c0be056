-- Publishes an occurrence of a schedule and moves the schedule on, as the owner of the partition, if the schedule is as the owner
-- has seen it. Both or neither: so no crash loses an occurrence, and none comes twice.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET, meta HASH,
--       blocked ZSET, queues ZSET, places HASH, running ZSET, resting ZSET, finished ZSET, endings HASH, tags HASH, tagged ZSET,
--       answered STRING (the caller's latest call), owner STRING, schedules HASH, occurrences ZSET, claims HASH
-- ARGV  wake_command, channel, sequence, order_mode (as for `publish`), columns (as for `publish`, of a message that is due at an
--       epoch ms; an id that exists stays as it is),
--       claimant (as it is stored as the owner), schedule (its id), expected (state), state (the new one),
--       skipping (the new state if an earlier occurrence is not over; '' publishes all the same), next_at (of its next occurrence,
--       epoch ms; inf: there is none), prefix (of the stored ids of its occurrences), suffix (of them),
--       ... (the stored id of the message)
-- Reply {now_us, 'base statuses kept'} as `publish`, or {now_us, status}
--       status   2 something else is stored of the schedule, 3 it was published by an earlier run, 4 skipped, now or by an
--                earlier run
--       or {now_us, 0, the owner that is stored, '' for none} if the claimant is not the owner
-- Roles consumer
-- Flags adds
-- Cost  O(log size)
--
-- Can be run again with the same arguments: no two writes have the same state, so a repeat finds its own.

-- @use now (now_us, now_up)
-- @use times (MAX_TIME)
-- @use envelopes (has_envelope)
-- @use message-columns (due_specs, tag_lists)
-- This shows the type of `meta`, too.
local asked = redis.call('HMGET', meta, 'finished', 'tagged')
local had_tags = asked[2]
asked[2] = had_tags or tag_lists ~= ''
local is_ordered = order_mode ~= ''
-- @use order-of-topic
-- @use publish-one (publish_one)
-- @use answered (earlier_answer)
-- @use types (assert_sets, assert_hashes)
-- @use schedule (schedule_parts, is_score)

local stored_owner = redis.call('GET', owner) or ''
if stored_owner ~= claimant then return { now_us, 0, stored_owner } end
local stored_state, stored_rest = schedule_parts(redis.call('HGET', schedules, schedule))
if stored_state == state then return { now_us, 3 } end
if skipping ~= '' and stored_state == skipping then return { now_us, 4 } end
if stored_state ~= expected then return { now_us, 2 } end

-- All that follows has to succeed as a whole: from here on `publish` finds nothing to refuse.
local occurs_at = tonumber(due_specs)
if not (is_score(next_at) and occurs_at and occurs_at >= 0 and occurs_at <= MAX_TIME) then
  return redis.error_reply('REFUSED an occurrence is no time: ' .. due_specs .. ', ' .. next_at)
end
assert_sets(scheduled, inflight, dead, keyed, occurrences, blocked, queues)
assert_hashes(messages, deliveries, errors, places)
earlier_answer()

local function move_on(new_state)
  redis.call('HSET', schedules, schedule, new_state .. '\n' .. stored_rest)
  redis.call('ZADD', occurrences, next_at, schedule)
end

-- Whether an earlier occurrence waits, runs or retries. The latest ones come first, since others are mostly over; there can be many
-- dead ones.
local PAGE, PAGES = 100, 10
local function is_busy()
  for page = 0, PAGES - 1 do
    local first, last = '[' .. prefix .. '0', '(' .. prefix .. ':'
    local ids = redis.call('ZRANGE', keyed, last, first, 'BYLEX', 'REV', 'LIMIT', page * PAGE, PAGE)
    if #ids == 0 then return false end
    local deaths = redis.call('ZMSCORE', dead, unpack(ids))
    for i = 1, #ids do
      if not deaths[i] and string.sub(ids[i], -#suffix) == suffix and has_envelope(ids[i]) then return true end
    end
    if #ids < PAGE then return false end
  end
  return false
end

if skipping ~= '' and is_busy() then
  move_on(skipping)
  return { now_us, 4 }
end

-- The message has the envelope of the schedule, with the current time in front. Text that is no envelope becomes a dead letter as it is.
local envelope = string.match(stored_rest, '\n(.*)$') or ''
local behind_time = string.match(envelope, '^%[%d+(,.*)$')
ARGV[FIRST + 1] = behind_time and string.format('[%d', now_up) .. behind_time or envelope
move_on(state)

local remember_ms = ''
-- @use publish-begin (total)
local publish_later = publish_one
local created, statuses, kept, is_new, first_due = total, '', '', false, nil
-- @use publish-each
-- @use publish-end
