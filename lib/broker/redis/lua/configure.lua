-- Fixes a topic's number of partitions at its first use.
--
-- KEYS  config HASH
-- ARGV  partitions, max_partitions, protocol (version), max_protocol, is_known (1 this is the second copy of what was stored,
--       which mends what cannot be read | 0 it is only wanted)
-- Reply {now_us, partitions, protocol version}: what is stored, as text
-- Cost  O(1)

-- @include now

local function is_number(text, most)
  local number = string.find(text, '^%d+$') and tonumber(text)
  return number and number >= 1 and number <= tonumber(most)
end

local function fix(field, number, most)
  local stored = redis.call('HGET', config, field)
  if stored and (is_known == '0' or is_number(stored, most)) then return stored end
  redis.call('HSET', config, field, number)
  return number
end

return { now_us, fix('partitions', partitions, max_partitions), fix('protocol', protocol, max_protocol) }
