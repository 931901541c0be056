-- Gives a message that waits another envelope, unless it has changed meanwhile.
--
-- KEYS  scheduled ZSET, blocked ZSET, messages HASH, meta HASH, answered STRING (the caller's latest call)
-- ARGV  sequence, id, expected (the envelope that it has), envelope (that it gets)
-- Reply {now_us, 1 edited | 0 it has another envelope by now, or waits no more}
-- Roles operator
-- Flags adds
-- Cost  O(length of the envelopes)
--
-- Can be run again with the same arguments: the sequence identifies a repeat, which gets the first run's answer.

-- @use now (now_us)
-- @use answered (earlier_answer, remember)
-- @use largest (note_length)
-- @use types (assert_hashes)

local CHANGED, EDITED = 0, 1

local answer = earlier_answer()
if answer then return { now_us, tonumber(answer) } end
assert_hashes(messages, meta)

local waits = redis.call('ZSCORE', scheduled, id) or redis.call('ZSCORE', blocked, id)
local result = CHANGED
if waits and redis.call('HGET', messages, id) == expected then
  redis.call('HSET', messages, id, envelope)
  note_length(#envelope)
  result = EDITED
end
remember(result)
return { now_us, result }
