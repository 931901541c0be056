-- Stores messages without tags that are all new, in a topic without an order: mostly all are, so this does as little as it can.
-- @needs scheduled, messages, is_new, first_due, ARGV, FIRST
-- @use publish-begin (total, due_of_all, score_of_all, dues, scores, are_lists, longest)
-- @use long-entry (LONG_ENTRY)
-- @use count (add)
-- @use largest (note_length)

-- This is the first write, and shows the type of `meta`.
is_new = add('published', total) == total
redis.call('HSET', messages, unpack(ARGV, FIRST))

-- Each envelope gives its place to the score of the next id, so that what is written to the set follows in ARGV.
first_due = due_of_all or dues[1]
ARGV[FIRST - 1] = score_of_all or scores[1]
if due_of_all then
  for at = FIRST + 1, #ARGV, 2 do ARGV[at] = score_of_all end
else
  for n = 1, total do
    if dues[n] < first_due then first_due = dues[n] end
    ARGV[FIRST + 2 * n - 1] = scores[n + 1]
  end
end
if are_lists then
  ARGV[FIRST - 3], ARGV[FIRST - 2] = '0', LONG_ENTRY
  redis.call('ZADD', scheduled, unpack(ARGV, FIRST - 3, FIRST + 2 * total - 2))
  redis.call('ZREM', scheduled, LONG_ENTRY)
else
  redis.call('ZADD', scheduled, unpack(ARGV, FIRST - 1, FIRST + 2 * total - 2))
end
note_length(longest)
