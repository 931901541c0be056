-- Lists the schedules whose time has come or comes soon, the earliest first, and says when the next of the others publishes.
--
-- KEYS  schedules HASH, occurrences ZSET
-- ARGV  limit, ahead (how long before its time one is listed, ms), skip (how many are left out at the beginning)
-- Reply {now_us, now, next, count, repaired, damaged, then 2 a schedule: id, record}
--       now       epoch ms
--       next      when the first of those that are not listed publishes, epoch ms; -1 if none does
--       count     how many schedules there are
--       repaired  how many entries of `occurrences` had no schedule or another time than their schedule says, or were missing
--       damaged   ids of schedules that clients could not name or change, with NUL behind each; they are set aside: they have no
--                 next occurrence any more
-- Roles consumer
-- Cost  O(limit log size), limit <= 100; stops early once the records add up to 1 MiB
--
-- The schedule's own record counts. Can be run again.

-- @use now (now_us, now)
-- @use times (MAX_TIME, to_time)
-- @use text (as_text)

local MAX_BYTES = 1048576
-- Number of schedules that are checked besides.
local TRIED = 3
local horizon = now + tonumber(ahead)
local due = redis.call('ZRANGEBYSCORE', occurrences, '-inf', horizon, 'LIMIT', tonumber(skip), tonumber(limit))
local count = redis.call('HLEN', schedules)
-- Format of the state: its third word is the next occurrence.
local STATE = '^[%w_%-]+ %a+ ([%d%-]+) [%d%-]+ %d+[^\n]*\n'
local reply = { now_us, now, -1, count, 0, '' }
local listed, repaired, bytes, damaged = 0, 0, 0, {}
for i = 1, #due do
  local id = due[i]
  local record = redis.call('HGET', schedules, id)
  local next_at = record and string.match(record, STATE)
  local time = tonumber(next_at)
  if not record then
    redis.call('ZREM', occurrences, id)
    repaired = repaired + 1
  elseif not next_at or as_text(id) ~= id then
    redis.call('ZADD', occurrences, 'inf', id)
    damaged[#damaged + 1] = as_text(id) .. '\0'
  elseif next_at == '-' then
    redis.call('ZADD', occurrences, 'inf', id)
    repaired = repaired + 1
  elseif time and time > horizon and time <= MAX_TIME then
    redis.call('ZADD', occurrences, string.format('%d', time), id)
    repaired = repaired + 1
  elseif listed > 0 and bytes + #record > MAX_BYTES then
    break
  else
    -- The client finds out whether the rest can be read, and can set the schedule aside.
    bytes = bytes + #record
    listed = listed + 1
    reply[2 * listed + 5], reply[2 * listed + 6] = id, record
  end
end
-- Another program may have removed an entry, or put it off. Checking a few schedules finds that.
local some = count > 0 and redis.call('HRANDFIELD', schedules, TRIED) or {}
for i = 1, #some do
  local id = some[i]
  local next_at = string.match(redis.call('HGET', schedules, id), STATE)
  local wanted = next_at == '-' and math.huge or tonumber(next_at)
  if wanted and wanted <= MAX_TIME and as_text(id) == id and tonumber(redis.call('ZSCORE', occurrences, id)) ~= wanted then
    redis.call('ZADD', occurrences, string.format('%d', wanted), id)
    repaired = repaired + 1
  end
end
local next_score = redis.call('ZRANGE', occurrences, skip + listed, skip + listed, 'WITHSCORES')[2]
if next_score and tonumber(next_score) <= MAX_TIME then reply[3] = to_time(next_score) end
reply[5], reply[6] = repaired, table.concat(damaged)
return reply
