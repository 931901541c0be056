-- Needs: messages, deliveries, errors, keyed.
-- Removes all that is stored of the given messages but their place in a set. At most 200 at a time.
local function forget(ids)
  if #ids == 0 then return end
  redis.call('HDEL', messages, unpack(ids))
  redis.call('HDEL', deliveries, unpack(ids))
  if redis.call('HLEN', errors) > 0 then redis.call('HDEL', errors, unpack(ids)) end
  -- Ids with a key of their own are looked for in all at once: mostly there are none.
  if not string.find(table.concat(ids), '\0', 1, true) then return end
  local with_key = {}
  for i = 1, #ids do
    if string.find(ids[i], '\0', 1, true) then with_key[#with_key + 1] = ids[i] end
  end
  redis.call('ZREM', keyed, unpack(with_key))
end
