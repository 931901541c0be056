-- Removes messages that have ended, and keeps their endings if that is asked for. Use this before anything is written.
-- @exports head_of, record_of, keepable, finish
-- @needs finished, endings, messages, deliveries, errors
-- @use now (now)
-- @use times (to_time)
-- @use record (NO_TOKEN, format_record)
-- @use forget (has_errors, forget)
-- @use finished (greatest_count, keeps, drop)

local head_of, record_of, keepable
local keep_ended
if keeps then
  local UNKNOWN, MOST_COPIED = '-', 262144

  -- Returns the first line of an ending.
  function head_of(outcome, duration, process)
    return outcome .. ' ' .. (duration or UNKNOWN) .. ' ' .. (process or UNKNOWN)
  end

  -- Returns the delivery record of a message that waits.
  function record_of(id, due)
    return redis.call('HGET', deliveries, id) or format_record(NO_TOKEN, 0, 0, to_time(due))
  end

  -- Returns how many of the messages can end in one call, since their envelopes are copied; one at least.
  function keepable(ids)
    local total = 0
    for i = 1, #ids do
      total = total + redis.call('HSTRLEN', messages, ids[i])
      if total > MOST_COPIED and i > 1 then return i - 1 end
    end
    return #ids
  end

  function keep_ended(ids, heads, records)
    local envelopes = redis.call('HMGET', messages, unpack(ids))
    local failures = has_errors and redis.call('HMGET', errors, unpack(ids)) or {}
    local fields, members, kept, lost, at = {}, {}, {}, {}, string.format('%d', now)
    for i = 1, #ids do
      local id, envelope = ids[i], envelopes[i]
      if envelope then
        kept[#kept + 1] = id
        fields[#fields + 1] = id
        fields[#fields + 1] = table.concat({ heads[i], records[i], failures[i] or '', envelope }, '\n')
        members[#members + 1] = at
        members[#members + 1] = id
      else
        lost[#lost + 1] = id
      end
    end
    if #kept > 0 then
      redis.call('HSET', endings, unpack(fields))
      redis.call('ZADD', finished, unpack(members))
    end
    forget(kept, true)
    forget(lost)
    -- Twice as many as were added, so that a lower limit is reached.
    local excess = greatest_count > 0 and math.min(redis.call('ZCARD', finished) - greatest_count, 2 * #ids) or 0
    if excess > 0 then drop(redis.call('ZRANGE', finished, 0, excess - 1)) end
  end
end

-- At most 200 at a time, of 256 KiB in all or one of any size. They are in no set any more, or are about to leave it. `heads` are the first
-- lines of the endings, `records` the delivery records, in the order of the ids.
local function finish(ids, heads, records)
  if keeps and #ids > 0 then return keep_ended(ids, heads, records) end
  forget(ids)
end
