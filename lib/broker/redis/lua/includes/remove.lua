-- Needs: messages, deliveries, errors, keyed, forget, assert_sets, assert_hashes.
-- To be called before anything is written. The type of the set itself shows when it is read.
local function assert_removable()
  assert_sets(keyed)
  assert_hashes(messages, deliveries, errors)
end

-- Removes messages from a set, with all that is stored of them; at most 200 at a time.
local function remove(set, ids)
  if #ids == 0 then return end
  redis.call('ZREM', set, unpack(ids))
  forget(ids)
end
