-- Most deliveries of a claim or a settle.
-- @exports MOST_DELIVERIES

local MOST_DELIVERIES = 200
