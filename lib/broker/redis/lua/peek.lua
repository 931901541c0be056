-- Lists messages of one state, in order of their scores, equal ones in order of the bytes of their stored ids.
--
-- KEYS  1 scheduled, inflight or dead ZSET   2 messages HASH   3 deliveries HASH   4 errors HASH   5 keyed ZSET
-- ARGV  1 limit   2 which (due for those up to now | all | dead for all dead letters)   3 bytes after which to stop
--       then, to go on behind a message: 4 its score   5 its stored id
-- Reply {now_us, 1 there may be more | 0 these were the last, then 6 a message: stored id, score (text), envelope
--       or nil, deliveries, attempts, failure JSON or ''}
-- Cost  O(limit + log² size), limit <= 200; stops early once envelopes and failures add up to the bytes given, <= 1 MiB

-- @include now
local set, messages, deliveries, errors, keyed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local limit, until_now, max_bytes = tonumber(ARGV[1]), ARGV[2] == 'due', tonumber(ARGV[3])
-- @include rank-after
-- @include record
-- @include types
-- @include envelopes
-- @include text-ids
-- @include text-members

local first = ARGV[5] and rank_after(set, ARGV[4], ARGV[5]) or 0
local page = redis.call('ZRANGE', set, first, first + limit - 1, 'WITHSCORES')
if ARGV[2] == 'dead' then give_text_ids(set, page) end

local reply = { now_us, #page == 2 * limit and 1 or 0 }
local bytes = 0
for i = 1, #page, 2 do
  local id, score = page[i], page[i + 1]
  if until_now and tonumber(score) > now then
    reply[2] = 0
    break
  end
  if bytes >= max_bytes then
    reply[2] = 1
    break
  end
  -- An id without an envelope is no message; it is answered all the same, since the next page begins behind it.
  local envelope = redis.call('HGET', messages, id)
  local _, delivery, attempt = parse_record(redis.call('HGET', deliveries, id))
  local failure = redis.call('HGET', errors, id) or ''
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = id, score, envelope
  reply[n + 4], reply[n + 5], reply[n + 6] = delivery, attempt, failure
  bytes = bytes + #(envelope or '') + #failure
end
return reply
