-- Identifies the claim: a claimant that is not the owner, or has claimed since, gets its answer at once.
-- @exports order, known, owner_start, highest, granted_before, began_before, digits_before, is_repeat
-- @needs claimant, sequence, delivered, owner, asked
-- @use now (now_us)
-- @use times (MAX_TIME)

local order, known = tonumber(sequence), tonumber(delivered)
local stored_owner = redis.call('GET', owner) or ''
-- The epoch, and the space behind it. Most of what patterns would read here is known.
local owner_start = string.sub(claimant, 1, string.find(claimant, ' ', 1, true) or 0)
if owner_start == '' or stored_owner ~= claimant then return { now_us, 0, stored_owner } end
if not (order and order >= 1 and order <= MAX_TIME and known and known >= 0 and known <= MAX_TIME) then
  return redis.error_reply('REFUSED the claim or its latest delivery has no number: ' .. sequence .. ', ' .. delivered)
end

-- The sequence of the latest claim in this epoch.
local latest = 0
-- The number of its latest delivery, and its grant: the time in the logs, and when it begins; and the digits, '' if all were 1.
local highest, granted_before, began_before, digits_before = 0, 0, 0, ''
local stored_claim = asked[4] or ''
if string.sub(stored_claim, 1, #owner_start) == owner_start then
  local nth, latest_delivery, granted, begins, digits =
    string.match(stored_claim, '^(%d+) (%d+) ?(%d*) ?(%d*)/?(%d*)$', #owner_start + 1)
  -- Mostly the claimant knows of it.
  nth, latest_delivery = tonumber(nth), latest_delivery == delivered and known or tonumber(latest_delivery)
  -- A damaged record is ignored.
  if nth and nth <= MAX_TIME and latest_delivery <= MAX_TIME then
    latest, highest, digits_before = nth, latest_delivery, digits
    if granted ~= '' then granted_before, began_before = tonumber(granted), tonumber(begins) or 0 end
  end
end
if order < latest then return { now_us, 0, stored_owner } end
local is_repeat = order == latest
