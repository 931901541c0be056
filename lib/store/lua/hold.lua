-- Holds a partition: nothing of it is handed out for the delay, even if a shorter hold ends before. Deliveries in flight go on.
--
-- KEYS  meta HASH, answered STRING (the caller's latest call)
-- ARGV  sequence, delay (ms)
-- Reply {now_us, until when, epoch ms}
-- Roles consumer, operator
-- Cost  O(1)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer. So a delay is counted once.

-- @use now (now_us, now, now_up)
local delay_ms = tonumber(delay)
-- @use times (MAX_TIME, LONGEST)
-- @use answered (earlier_answer, remember)

local answer = earlier_answer()
if answer then return { now_us, tonumber(answer) } end
if not (delay_ms and delay_ms >= 0 and delay_ms <= MAX_TIME - now_up) then
  return redis.error_reply('REFUSED the delay is no number of milliseconds: ' .. delay)
end
local held = tonumber(redis.call('HGET', meta, 'held'))
local held_until = now_up + delay_ms
if held and held <= now + LONGEST and held > held_until then held_until = held end
held_until = string.format('%d', held_until)
redis.call('HSET', meta, 'held', held_until)
remember(held_until)
return { now_us, tonumber(held_until) }
