-- As modules/types.lua, for what only the end of some deliveries writes to: acknowledgements are the most frequent calls of all. They write to few
-- keys, and `forget`, which then writes first, checks some of those itself.
-- @exports assert_others
-- @needs scheduled, dead, keyed, messages, errors

local function assert_others()
  for _, key in ipairs({ scheduled, dead, keyed }) do redis.call('ZCARD', key) end
  for _, key in ipairs({ messages, errors }) do redis.call('HLEN', key) end
end
