-- Lists dead letters in order of their death, equal ones in order of the bytes of their stored ids.
--
-- KEYS  1 dead ZSET   2 errors HASH   3 messages HASH   4 deliveries HASH   5 keyed ZSET
-- ARGV  1 limit       2 earliest death (epoch ms)   3 end of the deaths, itself not included (epoch ms; -1 for all so far)
--       4 with failures ('1') or without ('0')
--       then, to go on behind a dead letter: 5 its death (epoch ms)   6 its stored id
-- Reply {now_us, now ms, 1 there may be more | 0 these were the last, then 3 a dead letter: stored id, death (text),
--       failure JSON or ''}
-- Cost  O(limit + log² size), limit <= 200; stops early once the failures add up to 256 KiB

-- @include now
local dead, errors, messages, deliveries, keyed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local limit, since, till, with_failures = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
-- @include rank-after
-- @include types
-- @include envelopes
-- @include text-ids
-- @include text-members

local CHUNK, MAX_BYTES = 20, 262144

if till < 0 then till = now + 1 end
local first = redis.call('ZCOUNT', dead, '-inf', '(' .. since)
if ARGV[6] then first = math.max(first, rank_after(dead, ARGV[5], ARGV[6])) end
local page = redis.call('ZRANGE', dead, first, first + limit - 1, 'WITHSCORES')
give_text_ids(dead, page)

local ids, deaths = {}, {}
for i = 1, #page, 2 do
  if tonumber(page[i + 1]) >= till then break end
  ids[#ids + 1] = page[i]
  deaths[#deaths + 1] = page[i + 1]
end

local reply = { now_us, now, #ids == limit and 1 or 0 }
local bytes = 0

local function add(id, died_at, failure)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = id, died_at, failure
  bytes = bytes + #failure
end

for from = 1, #ids, CHUNK do
  if bytes >= MAX_BYTES then
    reply[3] = 1
    break
  end
  local last = math.min(from + CHUNK - 1, #ids)
  local failures = with_failures and redis.call('HMGET', errors, unpack(ids, from, last)) or {}
  for i = from, last do add(ids[i], deaths[i], failures[i - from + 1] or '') end
end
return reply
