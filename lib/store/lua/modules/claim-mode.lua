-- Finds out whether messages wait for others of their key, or for its limits.
-- @exports stored_mode, known_terms, relook, order_mode, has_keys
-- @needs places, blocked, rates, resting
-- @use claim-terms (order_of_topic, is_limited)

local stored_mode = redis.call('HGET', places, 'mode')
-- If a message is blocked, there was an order, or a limit.
local order_mode = stored_mode
if not order_mode and (is_limited or redis.call('ZCARD', blocked) > 0) then
  order_mode = (order_of_topic or '-') ~= '-' and order_of_topic or 'limits'
end
local has_keys = order_mode and (is_limited or redis.call('HLEN', rates) > 0 or redis.call('ZCARD', resting) > 0)
-- The limits of the latest claim, and how far the messages that they held back were looked at again since they changed.
local known_terms, relook
if order_mode then known_terms, relook = unpack(redis.call('HMGET', places, 'terms', 'relook')) end
