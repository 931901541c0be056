-- Looks one message up.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, keyed ZSET,
--       blocked ZSET, places HASH, finished ZSET, endings HASH, meta HASH, claims HASH
-- ARGV  id
-- Reply {now_us}, or {now_us, 'finished', score (text), its field of endings},
--       or {now_us, state, score (text), envelope, deliveries, attempts, due, failure JSON or '', blocked_by}
--       state       scheduled | in-flight | dead
--       due         of its latest delivery, ms; -1 if not known
--       blocked_by  in an ordered topic, the stored id of the message of its key that has to be done first; else ''
-- Roles consumer, operator
-- Flags reads
-- Cost  O(1)

-- @use now (now_us)
-- @use record (parse_record)
-- @use lease (lease_of)
local asked = redis.call('HMGET', meta, 'finished')
-- @use finished (has_kept, is_kept)
-- @use heads (head_field, key_of)

local envelope = redis.call('HGET', messages, id)
if not envelope then
  local score = redis.call('ZSCORE', finished, id)
  local ending = has_kept and is_kept(score) and redis.call('HGET', endings, id)
  return ending and { now_us, 'finished', score, ending } or { now_us }
end

local state, at = 'scheduled', redis.call('ZSCORE', scheduled, id)
if not at then
  state, at = 'in-flight', lease_of(id)
end
if not at then
  state, at = 'dead', redis.call('ZSCORE', dead, id)
end
local blocked_by = ''
if not at then
  state, at = 'scheduled', redis.call('ZSCORE', blocked, id)
  blocked_by = redis.call('HGET', places, head_field(key_of(id))) or ''
end
if not at then return { now_us } end

local _, delivery, attempt, due = parse_record(redis.call('HGET', deliveries, id))
return { now_us, state, at, envelope, delivery, attempt, due or -1, redis.call('HGET', errors, id) or '', blocked_by }
