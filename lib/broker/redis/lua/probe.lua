-- Tries every command that the broker uses on keys, to find out before the first message whether the user may run them. It
-- leaves nothing behind.
--
-- KEYS  key ANY (of no use otherwise)
-- ARGV  wake_command, channel (of no use otherwise)
-- Reply {now_us, then what Redis said to each command that it denied}
-- Cost  O(1)

-- @include now

local reply = { now_us }

-- A denied key or channel in 6.2 and 7.0, then any denial in newer versions and in Valkey.
local DENIALS = { 'NOPERM', 'The user executing', 'ACL failure in script' }

local function is_denial(refusal)
  for _, words in ipairs(DENIALS) do
    if string.find(refusal, words, 1, true) then
      return true
    end
  end
  return false
end

local function try(...)
  local result = redis.pcall(...)
  local refusal = type(result) == 'table' and result.err
  if refusal and is_denial(refusal) then
    reply[#reply + 1] = select(1, ...) .. ': ' .. refusal
  end
end

try('SET', key, '', 'PX', 1000)
try('GET', key)
try('PTTL', key)
try('GETEX', key, 'PX', 1000)
try('DEL', key)
try('HSET', key, 'a', '1')
try('HSETNX', key, 'a', '1')
try('HGET', key, 'a')
try('HMGET', key, 'a')
try('HSTRLEN', key, 'a')
try('HGETALL', key)
try('HINCRBY', key, 'a', 1)
try('HLEN', key)
try('HDEL', key, 'a')
try('ZADD', key, 1, 'a')
try('ZSCORE', key, 'a')
try('ZMSCORE', key, 'a')
try('ZCARD', key)
try('ZCOUNT', key, 0, 1)
try('ZRANGE', key, 0, 0)
try('ZREVRANGE', key, 0, 0)
try('ZRANGEBYSCORE', key, 0, 1)
try('ZRANGEBYLEX', key, '-', '+')
try('ZREMRANGEBYRANK', key, 0, 0)
try('ZREM', key, 'a')
try('RENAME', key, key)
try('DEL', key)
try(wake_command, channel, '')
return reply
