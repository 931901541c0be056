-- Appends the events of a process to the stream of the fleet's events, and removes the oldest.
--
-- KEYS  events STREAM
-- ARGV  keep (about how many events), process, sequence, count (of the events), dropped (events before),
--       entry (the events, JSON)
-- Reply {now_us, offset}
--       offset   events that were ever appended, these included; the entry's id is 'offset-0', so that a reader sees from
--                two ids how many events were between them
-- Roles producer, consumer, operator
-- Flags adds
-- Cost  O(size of two entries), and O(n) for the n entries that are removed, at most 1,000
--
-- Can be run again with the same arguments: readers leave out an entry whose process and sequence they have seen.

-- @use now (now_us)

local last = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
local offset = (last and tonumber(string.match(last[1], '^%d+')) or 0) + tonumber(count)
local oldest = string.format('%d', math.max(0, offset - tonumber(keep)))
redis.call('XADD', events, 'MINID', '~', oldest, 'LIMIT', 1000, string.format('%d-0', offset),
  'p', process, 's', sequence, 'n', count, 'd', dropped, 'e', entry)
return { now_us, offset }
