-- Reads the tokens of the deliveries that are to end. Those of a shared record that follow each other come as '<field>+<first>-<last> '.
-- @exports total, tokens_of, shares
-- @needs tokens
-- @use most-deliveries (MOST_DELIVERIES)

-- Number of deliveries.
local total = 0
-- With the space behind each; false for those of a shared record, which are in `shares`.
local tokens_of = {}
-- The field of the record, the first and the last place in it, and how many deliveries come before.
local shares = {}
for token in string.gmatch(tokens, '[^ ]+ ') do
  local field, first, last
  if string.find(token, '+', 1, true) then field, first, last = string.match(token, '^([^ ]+)%+(%d+)%-?(%d*) $') end
  if field then
    first = tonumber(first)
    last = math.min(tonumber(last) or first, first + MOST_DELIVERIES - 1)
    shares[#shares + 1] = { field = field, first = first, last = last, before = total }
    for n = total + 1, total + last - first + 1 do tokens_of[n] = false end
    total = total + last - first + 1
  else
    total = total + 1
    tokens_of[total] = token
  end
end
