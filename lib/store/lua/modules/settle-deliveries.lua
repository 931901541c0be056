-- Ends deliveries, up to 200, each as its outcome says.
-- @exports statuses, acked_here
-- @needs inflight, outcomes, process, durations, ids, details, order_mode
-- @use finished (keeps)
-- @use finish (head_of, keepable, finish)
-- @use lines (leave_lines)
-- @use earliest (note)
-- @use settle-tokens (tokens_of)
-- @use settle-acks (records, is_plain)
-- @use count (add)
-- @use settle-one (settle, remove, ended, gone, gone_as, places_of, counts)

-- One digit a delivery.
local statuses
local digits, detail = {}, 1
local served = keeps and keepable(ids) or #ids
for n = 1, served do
  local outcome = #outcomes == 1 and outcomes or string.sub(outcomes, n, n)
  if outcome == 'a' and not ended[ids[n]] and is_plain(records[n], tokens_of[n]) then
    ended[ids[n]] = true
    remove(n, 'acked')
    digits[n] = '1'
  else
    local delay, failure
    if outcome ~= 'a' then
      delay, failure = details[detail], details[detail + 1]
      detail = detail + 2
    end
    digits[n] = settle(n, records[n], string.sub(tokens_of[n], 1, -2), outcome, delay, failure)
  end
end

if #gone > 0 then
  local heads, kept_records, took = {}, {}, {}
  if keeps then
    for duration in string.gmatch(durations, '%d+') do took[#took + 1] = duration end
    for at = 1, #gone do
      local n = places_of[at]
      heads[at] = head_of(gone_as[at] == 'acked' and 'a' or 'c', took[n], process ~= '' and process or nil)
      kept_records[at] = records[n]
    end
  end
  finish(gone, heads, kept_records)
  redis.call('ZREM', inflight, unpack(gone))
  if order_mode then note(leave_lines(gone)) end
end
statuses = table.concat(digits) .. string.rep('4', #ids - served)
-- The caller counts these.
local acked_here = counts.acked
counts.acked = 0
for counter, n in pairs(counts) do
  if n > 0 then add(counter, n) end
end
