-- Remembers what a publish has done, signals the owner, and replies.
-- @needs remember_ms, keyed, statuses, kept, is_new, first_due
-- @use publish-begin (base, head_before, with_key, are_lists)
-- @use long-entry (LONG_ENTRY)
-- @use now (now_us)
-- @use answered (remember)
-- @use wake (wake)
-- @use outgrown-tables

if with_key and #with_key > 0 then
  redis.call('ZADD', keyed, unpack(with_key))
  if are_lists then redis.call('ZREM', keyed, LONG_ENTRY) end
end
local answer = base .. ' ' .. statuses .. ' ' .. kept
if is_new then answer = answer .. ' new' end
remember(answer, remember_ms)
wake(head_before, first_due)
return { now_us, answer }
