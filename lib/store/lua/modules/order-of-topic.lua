-- The publisher knows whether the topic is ordered. Limits of keys concern only messages that exist already, and only if they hold any back.
-- @needs blocked, order_mode
-- @use message-columns (on_duplicates)

if order_mode == '' then order_mode = on_duplicates ~= 'n' and redis.call('ZCARD', blocked) > 0 and 'limits' end
