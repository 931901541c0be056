-- Applies the end of a delivery to its whole key.
-- @exports rest_key, give_back
-- @needs places, rates, rated, resting, outcomes, order_mode
-- @use now (now)
-- @use times (LONGEST)
-- @use heads (key_of)
-- @use earliest (note)

local rest_key, give_back
if outcomes ~= 'a' then
  -- Lets the key of this message rest: nothing of it begins before the given time.
  function rest_key(id, rests_until)
    local key = key_of(id)
    local before, log = string.match(redis.call('HGET', rates, key) or '', '^(%d+)(.*)$')
    before = tonumber(before) or 0
    if before <= now + LONGEST then rests_until = math.max(rests_until, before) end
    redis.call('HSET', rates, key, string.format('%d', rests_until) .. (log or ''))
    redis.call('ZADD', rated, 'GT', string.format('%d', rests_until), key)
    -- Messages parked by then are found when the key has rested.
    redis.call('ZADD', resting, string.format('%d', rests_until), key)
    if not order_mode then redis.call('HSET', places, 'mode', 'limits') end
  end

  -- Takes a delivery out of the log: one without a handler call does not count against the rate of its key.
  function give_back(id, granted_at)
    local key = key_of(id)
    local rests_until, log = string.match(redis.call('HGET', rates, key) or '', '^(%d+)(.*)$')
    if not log then return end
    local is_found = false
    log = string.gsub(log, '(%d+) (%d+)', function(time, n)
      if is_found or tonumber(time) ~= granted_at or tonumber(n) < 1 then return nil end
      is_found = true
      return string.format('%s %d', time, tonumber(n) - 1)
    end)
    if not is_found then return end
    redis.call('HSET', rates, key, rests_until .. log)
    if redis.call('ZSCORE', resting, key) then
      redis.call('ZADD', resting, string.format('%d', now), key)
      note(now)
    end
  end
end
