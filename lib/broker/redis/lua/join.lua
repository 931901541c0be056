-- Joins a topic's group, or stays in it: the heartbeat. Members whose session has ended are removed.
--
-- KEYS  members ZSET, holdings HASH
-- ARGV  wake_command, channel (of the members), member, session (ms), held (partitions, 'n,n,…')
-- Reply {now_us, then 3 a member, in order of their session's end: id, end of session ms, partitions held}
-- Cost  O(m), m members, at most 1,000

-- @include now

local changed = redis.call('ZADD', members, now + tonumber(session), member) == 1
local all = redis.call('ZRANGE', members, 0, 999, 'WITHSCORES')
local fields = redis.call('HGETALL', holdings)
local holdings_of = {}
for i = 1, #fields, 2 do holdings_of[fields[i]] = fields[i + 1] end

if holdings_of[member] ~= held then
  redis.call('HSET', holdings, member, held)
  holdings_of[member] = held
  changed = true
end

local reply = { now_us }
for i = 1, #all, 2 do
  local id, ends_at = all[i], tonumber(all[i + 1])
  if ends_at <= now then
    redis.call('ZREM', members, id)
    redis.call('HDEL', holdings, id)
    changed = true
  else
    reply[#reply + 1] = id
    reply[#reply + 1] = ends_at
    reply[#reply + 1] = holdings_of[id] or ''
  end
end
if changed then redis.call(wake_command, channel, member) end
return reply
