-- Needs: messages, deliveries, errors, keyed.
-- Gives dead letters whose ids are no text ids that are, so that they can be named. What waits or is in flight gets one
-- when it is claimed.
--
-- `page` is a list of ids and scores, by turns.
local function give_text_ids(set, page)
  for i = 1, #page, 2 do
    local id = page[i]
    if as_text(id) ~= id then
      assert_sets(keyed)
      assert_hashes(messages, deliveries, errors)
      page[i] = give_text_id(id)
      redis.call('ZREM', set, id)
      redis.call('ZADD', set, page[i + 1], page[i])
    end
  end
end
