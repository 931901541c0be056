-- Finds what another program has written, or a limit that has changed, by checking a little of what is held back.
-- @needs inflight, deliveries, claims, dead, blocked, queues, places, running, resting, most, CHUNK, repaired
-- @use now (now_us)
-- @use times (to_time)
-- @use shared-records (is_shared)
-- @use record (parse_record)
-- @use envelopes (has_envelope)
-- @use heads (head_field, key_of)
-- @use queues (in_queue)
-- @use order (place_of, leads, promote)
-- @use limits (take_back)
-- @use lines (line_up)
-- @use claim-terms (key_max, is_limited)
-- @use claim-mode (order_mode, stored_mode, has_keys)
-- @use key-limits (CHUNK_OF_KEYS, load_states, may_begin_of, wake_keys)
-- @use claim-reply (taken)

-- Number of blocked messages that a claim tries.
local TRIED = 3
-- To look into the shared records costs as much as a claim, so those that find messages do it now and then.
local looks = taken == 0 or now_us % 8 == 0

-- Sets a foreign score at one end to 0: ranges by bytes have no meaning unless all scores are the same.
local function mend_score(range)
  local queued, score = unpack(redis.call(range, queues, 0, 0, 'WITHSCORES'))
  if score and tonumber(score) ~= 0 then
    redis.call('ZADD', queues, 0, queued)
    repaired = repaired + 1
  end
end

-- Whether a blocked message has its place in the queue of its key, behind a head. Without a head, makes the first one of the queue the head.
local function is_in_line(id, due)
  local nth = place_of(id)
  if not nth or not redis.call('ZSCORE', queues, in_queue(id, due, nth)) then return false end
  local key = key_of(id)
  local head = redis.call('HGET', places, head_field(key))
  if head and leads(head, key, looks) then return true end
  repaired = repaired + 1
  return promote(key) ~= nil
end

-- Another program may have removed a head, or a place in a queue. Trying a few of the blocked messages finds that.
local function try_blocked()
  if not stored_mode then redis.call('HSET', places, 'mode', order_mode) end
  -- Redis gives a script the same random numbers each time.
  local any = now_us % redis.call('ZCARD', blocked)
  local ids = redis.call('ZRANGE', blocked, any, any + TRIED - 1)
  for i = 1, #ids do
    local id = ids[i]
    -- The check of the one before may have made it a head.
    local score = redis.call('ZSCORE', blocked, id)
    if score and not is_in_line(id, to_time(score)) then
      redis.call('ZREM', blocked, id)
      local _, delivered = parse_record(redis.call('HGET', deliveries, id))
      -- An id that is no message, or is in another set as well, was put here by another program.
      if has_envelope(id) and not leads(id, key_of(id), true) then line_up(id, to_time(score), delivered) end
      repaired = repaired + 1
    end
  end
end

-- A key can go on before its time if a limit has changed. Trying a few of those that rest finds that.
local function try_resting()
  local count = redis.call('ZCARD', resting)
  local first = count > 0 and now_us % count or 0
  wake_keys(redis.call('ZRANGE', resting, first, first + (is_limited and TRIED or CHUNK_OF_KEYS) - 1), most - taken)
end

-- Parked messages that can begin, since a limit has changed or another program has written, are found in the same way; all of them, chunk
-- by chunk, if there are no limits any more.
local function try_parked()
  local first = is_limited and now_us % redis.call('ZCARD', blocked) or 0
  local ids = redis.call('ZRANGE', blocked, first, first + (is_limited and TRIED or CHUNK) - 1)
  if has_keys then load_states(ids) end
  for i = 1, #ids do
    local id = ids[i]
    -- The check of the one before may have taken it back.
    local score = redis.call('ZSCORE', blocked, id)
    if score and not redis.call('ZSCORE', queues, in_queue(id, to_time(score), 0)) then
      redis.call('ZREM', blocked, id)
      -- An id that is no message, or is in another set as well, was put here by another program.
      local is_elsewhere = redis.call('ZSCORE', inflight, id) or redis.call('ZSCORE', dead, id) or is_shared(id)
      if has_envelope(id) and not is_elsewhere then line_up(id, to_time(score)) end
      repaired = repaired + 1
    elseif score and (not has_keys or may_begin_of(id)) then
      take_back(key_of(id), 1)
    end
  end
end

-- A delivery that another program has removed no longer counts against the limit of its key on what is in flight.
local function try_running()
  local count = redis.call('ZCARD', running)
  local entries = count > 0 and redis.call('ZRANGE', running, now_us % count, now_us % count + TRIED - 1) or {}
  for i = 1, #entries do
    local key, id = string.match(entries[i], '^(%Z*)%z(.*)$')
    local is_running = id and (redis.call('ZSCORE', inflight, id) or (looks and is_shared(id) or not looks and redis.call('HLEN', claims) > 0))
    if not is_running then
      redis.call('ZREM', running, entries[i])
      if key then take_back(key, 1) end
      repaired = repaired + 1
    end
  end
end

if has_keys then try_resting() end
if key_max > 0 and order_mode == 'limits' then try_running() end
if redis.call('ZCARD', blocked) > 0 then
  mend_score('ZRANGE')
  mend_score('ZREVRANGE')
  if order_mode == 'limits' then try_parked() else try_blocked() end
end
