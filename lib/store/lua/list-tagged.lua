-- Lists messages of one state that carry a tag, in order of the bytes of their stored ids.
--
-- KEYS  scheduled ZSET, inflight ZSET, dead ZSET, blocked ZSET, messages HASH, deliveries HASH, errors HASH, meta HASH, tags HASH, tagged ZSET, claims HASH
-- ARGV  tag, state (scheduled | due | in-flight | dead), limit, max_bytes (after which to stop),
--       after_id (the page begins behind this stored id; '' at the first)
-- Reply {now_us, 1 there may be more | 0 these were the last, stored id of the last one it has looked at, then for each message: stored id,
--       score (text), envelope, deliveries, attempts, due time of the latest delivery (ms or -1), failure JSON or ''}
-- Roles consumer, operator
-- Flags reads
-- Cost  O(log size), looks at 200 at most; stops early once envelopes and failures add up to the bytes given, <= 1 MiB

-- @use now (now_us, now)
-- @use record (parse_record)
-- @use lease (lease_of)
local asked = redis.call('HMGET', meta, '', 'tagged')
-- @use tags (has_tags, carries, list_tagged)

local LOOKED_AT = 200
local most, most_bytes = tonumber(limit), tonumber(max_bytes)

local function score_of(id)
  if state == 'in-flight' then return lease_of(id) end
  if state == 'dead' then return redis.call('ZSCORE', dead, id) end
  local score = redis.call('ZSCORE', scheduled, id)
  if state == 'due' then return score and tonumber(score) <= now and score end
  return score or redis.call('ZSCORE', blocked, id)
end

if not has_tags then return { now_us, 0, '' } end
local ids, stored = list_tagged(tag, after_id, LOOKED_AT)
local reply = { now_us, #ids == LOOKED_AT and 1 or 0, ids[#ids] or '' }
local found, bytes = 0, 0
for i = 1, #ids do
  if found == most or bytes >= most_bytes then
    reply[2], reply[3] = 1, ids[i - 1]
    break
  end
  local id = ids[i]
  local score = carries(stored[i], tag) and score_of(id)
  local envelope = score and redis.call('HGET', messages, id)
  if envelope then
    local _, delivery, attempt, due = parse_record(redis.call('HGET', deliveries, id))
    local failure = redis.call('HGET', errors, id) or ''
    for _, value in ipairs({ id, score, envelope, delivery, attempt, due or -1, failure }) do reply[#reply + 1] = value end
    found, bytes = found + 1, bytes + #envelope + #failure
  end
end
return reply
