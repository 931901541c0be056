-- Removes messages for good.
-- @exports assert_removable, remove
-- @needs messages, deliveries, errors, keyed, order_mode
-- @use types (assert_sets, assert_hashes)
-- @use head-due (head_due)
-- @use wake (wake)
-- @use lines (leave_lines)

-- Call this before anything is written. The type of the set itself shows when it is read.
local function assert_removable()
  assert_sets(keyed)
  assert_hashes(messages, deliveries, errors)
end

-- Removes messages from a set, and by `clean` everything stored of them; at most 200 at a time. Those that they have blocked may be due.
local function remove(set, ids, clean)
  if #ids == 0 then return end
  local head_before = order_mode and head_due()
  redis.call('ZREM', set, unpack(ids))
  clean(ids)
  if not order_mode then return end
  leave_lines(ids)
  wake(head_before, head_due())
end
