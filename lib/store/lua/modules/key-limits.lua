-- Applies the limits of keys to messages that are due.
-- @exports CHUNK_OF_KEYS, load_states, permitted, may_come_again, may_begin_of, note_delivery, has_ended, wake_keys, store_states, next_rest, granted_at, begins_at
-- @needs scheduled, blocked, queues, places, running, deliveries, rates, rated, resting
-- @use now (now, now_up)
-- @use times (LONGEST, to_time)
-- @use record (NO_TOKEN, parse_record, format_record)
-- @use rate-log (read_log, add_to_log, format_log)
-- @use heads (head_field, key_of)
-- @use long-entry (MANY, LONG_ENTRY)
-- @use queues (in_queue)
-- @use limits (take_back)
-- @use claim-terms (key_max, key_rate, key_window, key_lead, key_slack, key_ahead)
-- @use claim-mode (order_mode, has_keys)

-- Number of keys that have rested long enough at which a claim looks.
local CHUNK_OF_KEYS = 100
-- All that is in flight is read, and not what is of each key, while it is so little a key.
local FEW = 2
local load_states, permitted, may_come_again, may_begin_of, note_delivery, has_ended, wake_keys, store_states, next_rest
-- Time under which deliveries that are granted now stand in the logs; 0 if keys have no rate.
local granted_at = 0
-- Time at which they begin.
local begins_at = now_up + key_lead

if has_keys then
  -- A claim that finds nothing due and comes a little early waits for the first key that rests: the next one would be late.
  local early = math.max(key_slack, key_ahead)
  local first_rest = early > 0 and tonumber(redis.call('ZRANGE', resting, 0, 0, 'WITHSCORES')[2])
  if first_rest and first_rest > begins_at and first_rest <= begins_at + early then
    if #redis.call('ZRANGEBYSCORE', scheduled, '-inf', now, 'LIMIT', 0, 1) == 0 then begins_at = math.ceil(first_rest) end
  end

  -- By key: the number of deliveries that can begin now by its rate (`free`), and of more that can be in flight (`room`).
  local states, must_store = {}, {}
  local ANY = math.huge
  -- The keys of messages that were looked at.
  local key_by_id = {}
  local running_members = { '0', LONG_ENTRY }

  -- `others`: how many are in flight, by key; nil if that is to be asked for.
  local function set_room(key, state, others)
    if key_max == 0 then return end
    local running_now
    if others then running_now = others[key] or 0 else running_now = redis.call('ZLEXCOUNT', running, '[' .. key .. '\0', '(' .. key .. '\1') end
    state.room = math.max(0, key_max - running_now - state.begun)
  end

  -- Returns how many deliveries are in flight of each key; nil if it costs less to ask for each of `key_count` keys.
  local function count_running(key_count)
    local count = redis.call('ZCARD', running)
    if count > FEW * key_count then return nil end
    local counts = {}
    for _, entry in ipairs(count > 0 and redis.call('ZRANGE', running, '0', '-1') or {}) do
      local key = string.match(entry, '^(%Z*)%z')
      if key then counts[key] = (counts[key] or 0) + 1 end
    end
    return counts
  end

  -- Loads the states of the keys of these messages, or of these keys.
  function load_states(ids)
    local keys, is_listed = {}, {}
    for i = 1, #ids do
      local key = key_of(ids[i])
      key_by_id[ids[i]] = key
      if not states[key] and not is_listed[key] then
        is_listed[key] = true
        keys[#keys + 1] = key
      end
    end
    if #keys == 0 then return end
    local records = redis.call('HMGET', rates, unpack(keys))
    local others = key_max > 0 and count_running(#keys) or nil
    for i = 1, #keys do
      local key = keys[i]
      local rests_until, log
      if records[i] then rests_until, log = string.match(records[i], '^(%d+)(.*)$') end
      local times, counts, used, is_ahead, opens
      if key_rate > 0 then
        -- Deliveries that come free while a claim is on its way and back are claimed together: else each part of them takes another claim.
        times, counts, used, is_ahead, opens = read_log(log, key_rate, key_window, begins_at, 2 * key_ahead)
        if is_ahead then must_store[key] = true end
      end
      local rested_at = tonumber(rests_until or 0)
      if rested_at > now + LONGEST then rested_at = 0 end
      local free = key_rate > 0 and math.max(0, key_rate - used) or ANY
      if rested_at > begins_at then free = 0 end
      local state =
        { times = times, counts = counts, opens = opens, granted = 0, begun = 0, free = free, room = ANY, rests_until = rested_at }
      set_room(key, state, others)
      states[key] = state
    end
  end

  -- Returns when the next delivery can begin of a key of which none can now.
  local function next_time(state)
    if state.rests_until > begins_at then return state.rests_until end
    -- Without a log, this claim grants all that the rate allows.
    return (state.opens or begins_at + key_slack) + key_window + 1
  end

  -- Returns when it can be claimed then, if it is only in a set that claims go through by time.
  local function claimed_from(time) return math.max(now_up, time - key_lead) end

  local function rest(members)
    if #members > 0 then redis.call('ZADD', resting, unpack(members)) end
  end

  -- Keeps the due time of the head of an ordered key in its record, since its score no longer says it.
  local function keep_due(id, due)
    if redis.call('HGET', deliveries, id) then return end
    redis.call('HSET', deliveries, id, format_record(NO_TOKEN, 0, 0, due))
  end

  -- Returns those of the messages, due and in no set now, that can be delivered, with their due times. The others are parked; in an ordered topic,
  -- where each is the only one of its key, they are due again when they can be delivered.
  function permitted(ids, dues)
    load_states(ids)
    local allowed, allowed_dues, parked, queued, later, rests, count = {}, {}, {}, {}, {}, {}, 0
    for i = 1, #ids do
      local id, key = ids[i], key_by_id[ids[i]]
      local state = states[key]
      if state.free > 0 and state.room > 0 then
        state.free, state.room = state.free - 1, state.room - 1
        count = count + 1
        allowed[count], allowed_dues[count] = id, dues[i]
      elseif order_mode ~= 'limits' then
        local may_begin_at = next_time(state)
        keep_due(id, to_time(dues[i]))
        later[#later + 1], later[#later + 2] = string.format('%d', claimed_from(may_begin_at)), id
        rests[#rests + 1], rests[#rests + 2] = string.format('%d', may_begin_at), key
      else
        local due = to_time(dues[i])
        parked[#parked + 1], parked[#parked + 2] = string.format('%d', due), id
        queued[#queued + 1], queued[#queued + 2] = '0', in_queue(id, due, 0)
        if state.free <= 0 then rests[#rests + 1], rests[#rests + 2] = string.format('%d', next_time(state)), key end
      end
    end
    if #parked > 0 then
      redis.call('ZADD', blocked, unpack(parked))
      redis.call('ZADD', queues, unpack(queued))
    end
    if #later > 0 then redis.call('ZADD', scheduled, unpack(later)) end
    rest(rests)
    return allowed, allowed_dues
  end

  -- Returns whether a message whose lease has ended can be delivered again, else when. It is in flight, whatever its key allows.
  function may_come_again(id)
    local state = states[key_of(id)]
    if state.free <= 0 then return false, claimed_from(next_time(state)) end
    state.free = state.free - 1
    return true
  end

  -- Whether a parked message can begin: the limits of its key allow it, and its key does not rest.
  function may_begin_of(id)
    local key = key_of(id)
    local state, looks_at = states[key], redis.call('ZSCORE', resting, key)
    if state.free <= 0 or state.room <= 0 or looks_at and tonumber(looks_at) <= now + LONGEST then return false end
    state.free, state.room = state.free - 1, state.room - 1
    return true
  end

  -- Notes that a message is delivered. `is_fresh`: it was not in flight before.
  function note_delivery(id, is_fresh)
    local key = key_by_id[id]
    local state = states[key]
    if key_rate > 0 then
      state.granted = state.granted + 1
      must_store[key] = true
    end
    if is_fresh and key_max > 0 and order_mode == 'limits' then
      state.begun = state.begun + 1
      running_members[#running_members + 1], running_members[#running_members + 2] = '0', key .. '\0' .. id
    end
  end

  -- Notes that deliveries have ended in this claim.
  function has_ended(ids)
    for i = 1, #ids do
      local key = key_of(ids[i])
      if states[key] then set_room(key, states[key]) end
    end
  end

  -- Makes the head of an ordered key due when it was before, and not when a limit was to let it begin.
  local function take_back_head(key)
    local head = redis.call('HGET', places, head_field(key))
    local score = head and redis.call('ZSCORE', scheduled, head)
    if not score then return 0 end
    local _, _, _, due = parse_record(redis.call('HGET', deliveries, head))
    if due and due < tonumber(score) then redis.call('ZADD', scheduled, string.format('%d', due), head) end
    return 1
  end

  -- Takes back messages of resting keys that can go on by now, up to the given number.
  function wake_keys(keys, most)
    if #keys == 0 then return end
    local take = order_mode == 'limits' and take_back or take_back_head
    local rests, done = {}, {}
    load_states(keys)
    for i = 1, #keys do
      local key = keys[i]
      local state = states[key]
      local may_begin = math.min(state.free, state.room, most)
      local taken = may_begin > 0 and take(key, may_begin) or 0
      most = most - taken
      if taken < may_begin or state.room <= may_begin then
        -- None is left, or the end of a delivery takes back the next one.
        done[#done + 1] = key
      else
        rests[#rests + 1] = string.format('%d', state.free <= may_begin and next_time(state) or now)
        rests[#rests + 1] = key
      end
    end
    if #done > 0 then redis.call('ZREM', resting, unpack(done)) end
    rest(rests)
  end

  -- Writes what begins with a long entry, if there is more; a few without that.
  local function write(command, key, entries)
    if #entries < 2 * MANY then
      if #entries > 2 then redis.call(command, key, unpack(entries, 3)) end
    else
      redis.call(command, key, unpack(entries))
      redis.call(command == 'HSET' and 'HDEL' or 'ZREM', key, LONG_ENTRY)
    end
  end

  -- Writes the deliveries, and forgets those that no longer count, a few more than it writes.
  function store_states()
    local fields, ends, count = { LONG_ENTRY, '' }, { '0', LONG_ENTRY }, 2
    local end_of_window, window_end
    for key in pairs(must_store) do
      local state = states[key]
      local rests_until = '0 '
      granted_at = add_to_log(state.times, state.counts, state.granted, key_rate, key_window, begins_at + key_slack)
      if granted_at + key_window ~= window_end then
        window_end = granted_at + key_window
        end_of_window = string.format('%d', window_end)
      end
      local ends_at = end_of_window
      if state.rests_until > 0 then
        rests_until = string.format('%d ', state.rests_until)
        if state.rests_until > window_end then ends_at = string.format('%d', state.rests_until) end
      end
      fields[count + 1], fields[count + 2] = key, rests_until .. format_log(state.times, state.counts)
      ends[count + 1], ends[count + 2] = ends_at, key
      count = count + 2
    end
    write('HSET', rates, fields)
    write('ZADD', rated, ends)
    write('ZADD', running, running_members)
    local over = redis.call('ZRANGEBYSCORE', rated, '-inf', '(' .. now, 'LIMIT', 0, count > 2 and count + 8 or 500)
    if #over > 0 then
      redis.call('HDEL', rates, unpack(over))
      redis.call('ZREM', rated, unpack(over))
    end
  end

  -- Returns when to claim again for a key; if nothing waits for that, when all states of keys can be forgotten. nil for never.
  function next_rest(is_idle)
    local at = redis.call('ZRANGE', resting, 0, 0, 'WITHSCORES')[2]
    if at then return math.min(math.max(0, to_time(at) - key_lead - key_ahead), now + LONGEST) end
    at = is_idle and redis.call('ZREVRANGE', rated, 0, 0, 'WITHSCORES')[2]
    -- Forgetting is not urgent.
    return at and tonumber(at) <= now + LONGEST and math.max(to_time(at) + 1, now + 1000) or nil
  end
end
