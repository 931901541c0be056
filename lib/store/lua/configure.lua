-- Fixes a topic's number of partitions, and whether it is ordered, at its first use, and raises its protocol.
--
-- KEYS  config HASH
-- ARGV  partitions, max_partitions, protocol (version), raised (version that is raised to it; '' none), max_protocol, order ('' none, or continue or block), limits ('' for none),
--       handling ('' for the defaults),
--       is_known (1 this is the second copy of what was stored, which mends what cannot be read | 0 it is only wanted)
-- Reply {now_us, partitions, protocol version, order, limits, handling}: what is stored, as text; '' for none
-- Roles producer, consumer, operator
-- Cost  O(1)

-- @use now (now_us)

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

-- A topic without the field has no order; so the field is written only with a new topic, or if the second copy has it.
local is_new = not redis.call('HGET', config, 'partitions')
local stored_order = redis.call('HGET', config, 'order') or ''
if is_new or is_known == '1' and stored_order ~= 'continue' and stored_order ~= 'block' then
  stored_order = order
  if order == '' then redis.call('HDEL', config, 'order') else redis.call('HSET', config, 'order', order) end
end

-- The process that was first to use it again after a loss may not know the terms.
if (limits ~= '' or handling ~= '') and not redis.call('HGET', config, 'limits') then
  redis.call('HSET', config, 'limits', limits, 'handling', handling)
end

local stored_partitions, stored_protocol = fix('partitions', partitions, max_partitions), fix('protocol', protocol, max_protocol)
if stored_protocol == raised then
  redis.call('HSET', config, 'protocol', protocol)
  stored_protocol = protocol
end
local terms = redis.call('HMGET', config, 'limits', 'handling')
return { now_us, stored_partitions, stored_protocol, stored_order, terms[1] or '', terms[2] or '' }
