-- Hands messages to the owner of the partition: those whose lease ended first, then those that are due.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET, owner STRING,
--       meta HASH, blocked ZSET, queues ZSET, places HASH, running ZSET, rates HASH, rated ZSET, resting ZSET, finished ZSET,
--       endings HASH, tags HASH, tagged ZSET, handed STRING (what the latest claim at most once has handed out), claims HASH
-- ARGV  claimant (as it is stored as the owner: its epoch, a space, its session), sequence (of the claim),
--       delivered (number of the claimant's latest delivery), max (0: it only says what is next),
--       lease (ms; 0: at most once, what is handed out is gone), room (for suspects),
--       whole_room (the room while no suspect runs),
--       finished_limits (limits on the finished messages to keep from now on, see modules/finished.lua; '' for none),
--       terms ('' for a topic without order or limits; else
--       '<order, - for none> <most in flight of a key> <most of a key within the window> <window, ms> <1 to count what is due>
--       <lead, ms> <slack, ms> <ahead, ms>', 0 for no limit; lead and slack say when what a rate grants begins, as for `permit`, and
--       `ahead` how long before a key can go on the claimant has to claim, so that the claim is there in time),
--       shares_from (fewest first deliveries that share a record; '' if they never do),
--       tokens (of deliveries that have succeeded and end before it claims, as for `settle`), ... (the stored id of each)
-- Reply {now_us, status, delivered, next, repaired, records, suspects, granted, keeps_finished, digits, shared,
--       then 2 a message: stored id, envelope},
--       or {now_us, 0, the owner that is stored, '' for none} if the claimant is not the owner, or has claimed since: then nothing has ended
--       status   1 claimed, 2 paused, 3 held: nothing of the topic begins before next
--       next     earliest due time or end of a lease, epoch ms, or when a limit allows more; -1 if nothing waits
--       records  of each message, with commas between: its due time, ms, if this is its first delivery; else 4 with spaces: its token behind
--                the epoch and the dot, delivery, attempt, due ms. The numbers of all are in a row, and end with `delivered`, except in a repeat
--       suspects '' mostly; else with commas 1 if some were held back, or 0, and 2 numbers for each one that takes room: its
--                place among the messages, from 0, and that room
--       granted  '' mostly; else with commas the time under which the deliveries stand in the logs of their keys, ms or 0, how many
--                messages are still due, -1 if that was not asked for, when the deliveries may begin, epoch ms or 0, and in how many ms that is
--       keeps_finished 1 if finished messages are kept, or some are left | 0
--       digits   one for each delivery that was to end, as `settle` answers them
--       shared   '' mostly; else with commas 2 numbers for each record that deliveries share: the place of its first message, from 0, and how many
-- Roles consumer
-- Cost  O(max log size), max <= 200; looks at 400 messages at most, including those that limits hold back, and stops early once the
--       envelopes add up to 1 MiB, or 256 KiB if the messages handed out are kept as finished
--
-- A delivery's token is the claimant's epoch, a dot and the number of the delivery. `claim` of meta is the latest claim:
-- '<epoch> <sequence> <number of its latest delivery>', and behind that, if rates of keys have granted deliveries, the time under which they
-- stand in their logs, and when they can begin; at the end '/' and the digits, if not all of them are 1.
--
-- A message whose delivery ended with its lease may have killed its process, and is a suspect from the second time on. Suspects
-- of two crashes run in groups, and those of more alone, so that the crash of a group is not held against the innocent: only
-- one that ran alone spends an attempt by its crash. Those without room stay as they are.
--
-- A key can have limits, or rest. Its due messages that must not be delivered wait as modules/key-limits.lua says; those that were delivered
-- before and whose lease has ended stay in flight until they can come again.
--
-- Arguments that it cannot use, such as a lease that is not a number, are refused before anything is written.
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the digits and the deliveries that the first run
-- made as they are, whatever its max. A run that comes after a later claim changes nothing. Messages handed out at most once are kept in
-- `handed` for a while, as '<epoch> <sequence> <numbers>;<suspects>' and behind a line break, of each message, the lengths of its stored id
-- and its envelope, and both.

-- @use now (now)
-- @use times (MAX_TIME, LONGEST)
local most, lease_ms, free = tonumber(max), tonumber(lease), tonumber(room)
local whole = whole_room == room and free or tonumber(whole_room)
local asked = redis.call('HMGET', meta, 'finished', 'tagged', 'paused', 'claim', 'largest', 'held', 'delivered', 'acked')
local limits_before = asked[1]
-- The limits of this owner hold from now on. If it has none, finished messages stay for as long as was promised.
if finished_limits ~= '' then asked[1] = finished_limits elseif asked[1] then asked[1] = (string.match(asked[1], '^%d+ ') or '-1 ') .. '0' end
-- @use claim-latest (order, owner_start, highest, known, is_repeat, granted_before, began_before, digits_before)
if not (lease_ms and lease_ms >= 0 and lease_ms <= MAX_TIME) then
  return redis.error_reply('REFUSED the lease is no number of milliseconds: ' .. lease)
end
if not (free and whole) then
  return redis.error_reply('REFUSED the room for suspects is no number: ' .. room .. ', ' .. whole_room)
end
-- @use claim-terms (counts_due, is_limited)
if terms ~= '' and not counts_due then return redis.error_reply('REFUSED the terms cannot be read: ' .. terms) end
-- @use claim-mode (stored_mode, order_mode, has_keys)

local held_until = asked[6] and tonumber(asked[6])
if held_until and (held_until <= now or held_until > now + LONGEST) then held_until = nil end

-- As modules/types.lua, without a function for each, and only where the first read of a key comes behind a write. An end of a delivery writes to
-- `messages` first.
local is_once = lease_ms == 0
-- As text, since Redis formats a number with 17 digits, which takes long.
local now_text, deadline = string.format('%d', now), string.format('%d', now + lease_ms)
local is_lease_over = redis.call('ZCOUNT', inflight, '-inf', now_text) > 0
if order_mode or is_once or is_lease_over or tokens ~= '' then
  redis.call('ZCARD', scheduled)
  redis.call('ZCARD', keyed)
end
if order_mode or is_once or is_lease_over then redis.call('HLEN', messages) end
if has_keys then
  redis.call('HLEN', rates)
  for _, key in ipairs({ running, rated, resting }) do redis.call('ZCARD', key) end
end
local number_before = math.max(highest, known)
local token_start = string.sub(owner_start, 1, -2) .. '.'

-- Messages looked at together, and most such looks, the last of which is not at those whose lease has ended.
local CHUNK, ROUNDS = 100, 4
-- nil if none of its deliveries can share a record.
local least_shared = tonumber(shares_from)
if is_once or least_shared and most < least_shared then least_shared = nil end
local reads_shared = order_mode or least_shared or is_lease_over or is_repeat or string.find(tokens, '+', 1, true)
-- @use count (add, counted)
-- @use record
-- @use shared-records if reads_shared
-- @use forget (has_errors)
-- @use finished (keeps)
-- @use finish
-- @use heads if order_mode
-- @use queues if order_mode
-- @use lines (leave_lines)

local acked = 0
local digits = ''
-- Redis 6.2 lets a script add nothing while its memory is full, unless it has removed something first.
local function make_room() redis.call('HDEL', meta, '') end
if order_mode or is_repeat then make_room() end
if tokens ~= '' and is_repeat then
  digits = digits_before ~= '' and digits_before or string.rep('1', #ARGV - FIRST + 1)
elseif tokens ~= '' then
  local ids, outcomes, details, process, durations = { unpack(ARGV, FIRST) }, 'a', nil, '', ''
  -- @use settle-acks (are_acked)
  if are_acked then
    digits = string.rep('1', #ids)
    acked = #ids
  else
    make_room()
    -- @use settle-deliveries (statuses, acked_here)
    digits = statuses
    acked = acked_here
  end
end

-- @use rate-log if has_keys
-- @use key-limits (CHUNK_OF_KEYS, has_ended, wake_keys, store_states, granted_at, begins_at)
-- @use claim-reply (reply, taken, bytes)
-- Number of the latest delivery. It is never used again, whether the owner or this partition knows of it.
local number = number_before
-- Number of entries found without a message or a place.
local repaired = 0
-- @use claim-share
-- @use long-entry

local leave
if order_mode then
  function leave(ids)
    leave_lines(ids)
    if has_keys then has_ended(ids) end
  end
end

-- When the next message is due, as text; nil if that is to be asked for.
local next_due
-- Number of messages held back for want of room.
local held = 0
-- Whether it may hand out what has no delivery yet, or whose delivery has ended.
local may_deliver = false
-- The functions for messages whose lease has ended; nil if there are none, and the first one once it has found all.
local ended_ids, ended_of
if is_repeat and highest > known then
  -- @use claim-repeat
elseif asked[3] then
  reply[2] = 2
elseif held_until then
  reply[2] = 3
elseif not is_repeat then
  may_deliver = true
  if order_mode == 'limits' and not stored_mode then redis.call('HSET', places, 'mode', order_mode) end
  if has_keys then wake_keys(redis.call('ZRANGEBYSCORE', resting, '-inf', begins_at, 'LIMIT', 0, CHUNK_OF_KEYS), most) end
  if is_lease_over then
    -- @use claim-ended (find_ended, take_ended)
    ended_ids, ended_of = find_ended, take_ended
  end
end

-- Messages that are kept are copied.
local max_bytes = is_once and keeps and 262144 or 1048576
local rounds, has_records = 0, has_errors
-- Its modules make no functions, unless records have to be read: that would take longer than all that most claims do here.
while may_deliver and taken < most and bytes < max_bytes and rounds < ROUNDS do
  rounds = rounds + 1
  if rounds == ROUNDS then ended_ids = nil end
  -- @use claim-next (is_last)
  -- @use claim-deliver
  if is_last and not ended_ids then break end
  if is_last then ended_ids = nil end
end
if taken == 0 and tokens == '' then
  make_room()
  -- A lease that ends later than any lease can was not given here, and its delivery will not be settled: so it ends now.
  local last = redis.call('ZREVRANGE', inflight, 0, 0, 'WITHSCORES')
  if last[2] and tonumber(last[2]) > now + LONGEST then
    redis.call('ZADD', inflight, now_text, last[1])
    repaired = repaired + 1
  end
end

if taken < most and not is_repeat and reply[2] == 1 and (has_keys or order_mode and redis.call('ZCARD', blocked) > 0) then
  -- @use claim-mending
end
-- @use claim-relook
if has_keys and not is_repeat then store_states() end

if is_once and taken > 0 and not is_repeat then
  -- @use claim-handed
end
if not is_repeat then
  local this_claim = string.format('%s%d %d', owner_start, order, number)
  if granted_at > 0 then this_claim = string.format('%s %d %d', this_claim, granted_at, begins_at) end
  if string.find(digits, '[^1]') then this_claim = this_claim .. '/' .. digits end
  local changes = { 'claim', this_claim }
  if number > number_before then changes[3], changes[4] = 'delivered', string.format('%d', counted(asked[7]) + number - number_before) end
  if acked > 0 then changes[#changes + 1], changes[#changes + 2] = 'acked', string.format('%d', counted(asked[8]) + acked) end
  if asked[1] and asked[1] ~= limits_before then changes[#changes + 1], changes[#changes + 2] = 'finished', asked[1] end
  redis.call('HSET', meta, unpack(changes))
end
if repaired > 0 then add('repaired', repaired) end
-- @use claim-answer
if order_mode == 'limits' and not is_limited and not is_repeat and redis.call('ZCARD', blocked) == 0 then
  local knows = redis.call('ZCARD', running) + redis.call('HLEN', rates) + redis.call('ZCARD', resting)
  if knows == 0 then redis.call('HDEL', places, 'mode', 'terms') end
end
return reply
