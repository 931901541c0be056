-- Keeps data of messages that have ended, if the owner asks for it. `finished` has the time at which each of them ended, and `endings`
--   '<outcome> <duration> <process>\n<delivery record>\n<failure JSON, or nothing>\n<envelope>'
--   outcome   a acknowledged, c cancelled, d delivered at most once
--   duration  of the last handler call, in ms; - if not known
--   process   that has handled the message; - if not known
-- `finished` of meta, which is asked[1], has the limits: '<greatest age, ms> <greatest number>', -1 for none. With a greatest number of 0
-- nothing more is kept, and endings left by an earlier owner stay until they are too old, or are being removed if there is no greatest age.
-- One that is too old counts as gone, even before it is removed.
-- Use this before anything is written.
-- @exports greatest_age, greatest_count, keeps, has_kept, is_kept, drop
-- @needs finished, endings, messages, keyed, asked
-- @use now (now)
-- @use times (to_time)
-- @use envelopes (has_envelope)

local greatest_age, greatest_count, is_kept, drop
-- Other partitions do without all this.
if asked[1] then
  greatest_age, greatest_count = string.match(asked[1], '^(%-?%d+) (%-?%d+)$')
  greatest_age, greatest_count = tonumber(greatest_age), tonumber(greatest_count)
end
local keeps = greatest_count ~= nil and greatest_count ~= 0
local has_kept = keeps or greatest_count ~= nil and greatest_age >= 0
if greatest_count then
  redis.call('ZCARD', finished)
  redis.call('HLEN', endings)
  redis.call('HLEN', messages)
  redis.call('ZCARD', keyed)

  -- Whether a message that ended at this score is kept.
  function is_kept(score)
    return has_kept and score and (greatest_age < 0 or to_time(score) + greatest_age > now)
  end

  -- Removes the endings of the given messages; at most 400 at a time. Another message may have the id by now.
  function drop(ids)
    if #ids == 0 then return end
    redis.call('ZREM', finished, unpack(ids))
    redis.call('HDEL', endings, unpack(ids))
    for i = 1, #ids do
      if string.find(ids[i], '\0', 1, true) and not has_envelope(ids[i]) then redis.call('ZREM', keyed, ids[i]) end
    end
  end
end
