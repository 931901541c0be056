-- The server's clock: `now` in ms rounded down decides what is due; delays are added to `now_up`, rounded up, so
-- that nothing is ever early. `now_us` (microseconds) leads every reply.
-- @exports now_us, now, now_up

local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
local now_up = math.ceil(now_us / 1000)
