-- Writes down an operator's action, and removes the oldest entries.
--
-- KEYS  audit STREAM, answered STRING (names the entry)
-- ARGV  keep (about how many entries), text (the entry, JSON)
-- Reply {now_us}
-- Roles operator
-- Cost  O(size of the entry), and O(n) for the n entries that are removed, at most 1,000
--
-- Can be run again with the same arguments: the name identifies a repeat, for 2 minutes.

-- @use now (now_us)

-- A key of another type is refused before anything is written.
redis.call('XREVRANGE', audit, '+', '-', 'COUNT', 1)
if redis.call('GET', answered) then return { now_us } end
redis.call('SET', answered, '1', 'PX', 120000)
redis.call('XADD', audit, 'MAXLEN', '~', keep, 'LIMIT', 1000, '*', 'e', text)
return { now_us }
