-- Looks up everything that decides when a message is delivered.
--
-- KEYS  scheduled ZSET, inflight ZSET, messages HASH, deliveries HASH, dead ZSET, errors HASH, blocked ZSET, places HASH,
--       owner STRING, meta HASH, resting ZSET, claims HASH
-- ARGV  id
-- Reply {now_us}, or {now_us, now ms, paused '1' | '', owner or '', state, score (text), begin of the envelope, token, delivery,
--       attempt, mark, crashes, failure JSON or '', blocked_by, before, held until ms or -1, limit, due}
--       state       scheduled | in-flight | dead
--       blocked_by  in an ordered topic, the stored id of the message of its key that has to be done first; else ''
--       limit       rate | inFlight if it is due, and a limit of its key keeps it waiting; else ''
--       before      how many are claimed before it, once it is due; -1 if it is not waiting to be claimed
--       due         of its latest delivery, ms; -1 if not known
-- Roles consumer, operator
-- Flags reads
-- Cost  O(log size)

-- @use now (now_us, now)
-- @use times (LONGEST)
-- @use record (parse_record)
-- @use lease (lease_of)
-- @use heads (head_field, key_of)

-- Length of the part of an envelope that says when it was published.
local HEAD = 20

local envelope = redis.call('HGET', messages, id)
if not envelope then return { now_us } end
local rests = redis.call('ZSCORE', resting, key_of(id))

-- Messages that are claimed first.
local ended = redis.call('ZCOUNT', inflight, '-inf', now)
local state, at, before, blocked_by, limit = 'scheduled', redis.call('ZSCORE', scheduled, id), -1, '', ''
if at then before = ended + redis.call('ZRANK', scheduled, id) end
if not at then
  state, at = 'in-flight', lease_of(id)
  if at and tonumber(at) <= now then before = redis.call('ZRANK', inflight, id) end
end
if not at then
  state, at = 'dead', redis.call('ZSCORE', dead, id)
end
if not at then
  state, at = 'scheduled', redis.call('ZSCORE', blocked, id)
  if redis.call('HGET', places, 'mode') ~= 'limits' then
    blocked_by = redis.call('HGET', places, head_field(key_of(id))) or ''
  else
    limit = rests and 'rate' or 'inFlight'
  end
end
if not at then return { now_us } end

local token, delivery, attempt, due, mark, crashes = parse_record(redis.call('HGET', deliveries, id))
-- The head of an ordered key is scheduled for when its rate lets it begin.
if state == 'scheduled' and limit == '' and due and due < tonumber(at) and rests then at, limit = due, 'rate' end
local held_until = tonumber(redis.call('HGET', meta, 'held'))
if not (held_until and held_until > now and held_until <= now + LONGEST) then held_until = -1 end
local reply = {
  now_us, now, redis.call('HGET', meta, 'paused') and '1' or '', redis.call('GET', owner) or '',
  state, at, string.sub(envelope, 1, HEAD), token, delivery, attempt, mark, crashes,
  redis.call('HGET', errors, id) or '', blocked_by, before, held_until, limit, due or -1,
}
return reply
