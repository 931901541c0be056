-- Counts waiting messages by due time, whether or not others of their key keep them waiting.
--
-- KEYS  scheduled ZSET, blocked ZSET, ... (the same of further partitions, which the same node holds)
-- ARGV  ... (times in ms, ascending, at most 201; for several partitions, as many fewer)
-- Reply {now_us, then for each partition {how many wait, how many of them are due, then for each time how many are due before it;
--       the last of these counts is not repeated}}
-- Roles consumer, operator
-- Flags reads
-- Cost  O(times · log size) for each partition

-- @use now (now_us, now)

local latest = tonumber(ARGV[#ARGV])

local function count(scheduled, blocked)
  local counts = { 0, 0, 0 }
  for _, set in ipairs({ scheduled, blocked }) do
    local total = redis.call('ZCARD', set)
    local earliest = tonumber(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2])
    counts[1] = counts[1] + total
    if total > 0 and earliest <= now then counts[2] = counts[2] + redis.call('ZCOUNT', set, '-inf', now) end
    local before = 0
    -- Most of a long range is empty, or behind the last message.
    if total > 0 and earliest < latest then
      for i = FIRST, #ARGV do
        if before < total and earliest < tonumber(ARGV[i]) then
          before = redis.call('ZCOUNT', set, '-inf', '(' .. ARGV[i])
        end
        local at = i - FIRST + 3
        counts[at] = (counts[at] or 0) + before
      end
    end
  end
  while #counts > 3 and counts[#counts] == counts[#counts - 1] do counts[#counts] = nil end
  return counts
end

local reply = { now_us }
for i = 1, #KEYS, PLACE do reply[#reply + 1] = count(unpack(KEYS, i, i + PLACE - 1)) end
return reply
