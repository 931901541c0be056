-- The publisher knows whether the topic is ordered. Limits of keys concern only messages that exist already, and only if they hold any back.
-- @exports is_ordered
-- @needs blocked, order_mode
-- @use message-columns (on_duplicates)

local is_ordered = order_mode ~= ''
if not is_ordered then order_mode = on_duplicates ~= 'n' and redis.call('ZCARD', blocked) > 0 and 'limits' end
