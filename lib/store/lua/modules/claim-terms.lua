-- Reads the order and the limits of the topic from the arguments of a claim.
-- @exports order_of_topic, key_max, key_rate, key_window, counts_due, key_lead, key_slack, key_ahead, is_limited
-- @needs terms

local order_of_topic, counts_due
local key_max, key_rate, key_window, key_lead, key_slack, key_ahead = 0, 0, 0, 0, 0, 0
if terms ~= '' then
  local lead, slack, ahead
  order_of_topic, key_max, key_rate, key_window, counts_due, lead, slack, ahead =
    string.match(terms, '^(%S+) (%d+) (%d+) (%d+) (%d) (%d+) (%d+) (%d+)$')
  key_max, key_rate, key_window = tonumber(key_max) or 0, tonumber(key_rate) or 0, tonumber(key_window) or 0
  -- Without a rate every delivery begins at once.
  if key_rate > 0 then key_lead, key_slack, key_ahead = tonumber(lead), tonumber(slack), tonumber(ahead) end
end
local is_limited = key_max > 0 or key_rate > 0
