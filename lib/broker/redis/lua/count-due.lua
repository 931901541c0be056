-- Counts what waits by when it is due, whether or not others of its key keep it waiting.
--
-- KEYS  scheduled ZSET, blocked ZSET
-- ARGV  ... (times in ms, ascending, at most 201)
-- Reply {now_us, how many wait, how many of them are due, then for each time how many are due before it}
-- Cost  O(times · log size)

-- @include now

local reply = { now_us, 0, 0 }
for i = FIRST, #ARGV do reply[#reply + 1] = 0 end
for _, set in ipairs({ scheduled, blocked }) do
  local total = redis.call('ZCARD', set)
  local earliest = tonumber(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2])
  reply[2] = reply[2] + total
  reply[3] = reply[3] + redis.call('ZCOUNT', set, '-inf', now)
  local before = 0
  for i = FIRST, #ARGV do
    -- Most of a long range is empty, or behind the last message.
    if before < total and earliest < tonumber(ARGV[i]) then
      before = redis.call('ZCOUNT', set, '-inf', '(' .. ARGV[i])
    end
    local at = i - FIRST + 4
    reply[at] = reply[at] + before
  end
end
return reply
