-- Reads the tokens of the deliveries that are to end.
-- @exports tokens_of
-- @needs tokens

-- With the space behind each.
local tokens_of = {}
for token in string.gmatch(tokens, '[^ ]+ ') do tokens_of[#tokens_of + 1] = token end
