-- Tries every command that the broker uses on keys, to find out before the first message whether the server runs them for this
-- user. It leaves nothing behind.
--
-- KEYS  key ANY (of no use otherwise)
-- ARGV  wake_command, channel (of no use otherwise)
-- Reply {now_us, then each command that Redis refused, with its error}
-- Roles none (it tries the commands of all others)
-- Cost  O(1)

-- @use now (now_us)

local reply = { now_us }

-- Whether a command was run although it failed: it met what an earlier command, which was refused, would have changed.
local function was_run(refusal)
  return string.find(refusal, 'WRONGTYPE', 1, true) or string.find(refusal, 'no such key', 1, true)
end

local function try(...)
  local result = redis.pcall(...)
  local refusal = type(result) == 'table' and result.err
  if refusal and not was_run(refusal) then
    reply[#reply + 1] = select(1, ...) .. ': ' .. refusal
  end
end

try('SET', key, '', 'PX', 1000)
try('GET', key)
try('PTTL', key)
try('PEXPIRE', key, 1000)
try('DEL', key)
try('HSET', key, 'a', '1')
try('HGET', key, 'a')
try('HMGET', key, 'a')
try('HSTRLEN', key, 'a')
try('HGETALL', key)
try('HKEYS', key)
try('HVALS', key)
try('HSCAN', key, 0)
try('HINCRBY', key, 'a', 1)
try('HLEN', key)
try('HRANDFIELD', key)
try('HSETNX', key, 'a', '1')
try('HDEL', key, 'a')
try('ZADD', key, 1, 'a')
try('ZSCORE', key, 'a')
try('ZMSCORE', key, 'a')
try('ZCARD', key)
try('ZCOUNT', key, 0, 1)
try('ZRANK', key, 'a')
try('ZRANGE', key, 0, 0)
try('ZREVRANGE', key, 0, 0)
try('ZRANGEBYSCORE', key, 0, 1)
try('ZRANGEBYLEX', key, '-', '+')
try('ZLEXCOUNT', key, '-', '+')
try('RENAME', key, key)
try('ZREMRANGEBYRANK', key, 0, 0)
try('ZREM', key, 'a')
try('DEL', key)
try(wake_command, channel, '')
return reply
