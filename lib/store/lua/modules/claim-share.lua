-- Makes deliveries that share a record.
-- @exports shared, deliver_shared
-- @needs least_shared, scheduled, inflight, messages, claims, token_start, deadline, number
-- @use claim-mode (has_keys)
-- @use key-limits (note_delivery)
-- @use shared-records (GAP)
-- @use finished (keeps)
-- @use claim-reply (HEAD, reply, announced, taken, bytes)

-- Most such records of a partition: a look for a message by its id may go through all of them.
local MOST = 64

-- Of each record, with commas: the place of its first message among those of the answer, from 0, and how many it has.
local shared = {}
-- Makes deliveries of messages, the first ones of `scheduled` or just taken from there, which have no records; `dues` are their due times, with commas. Returns whether it
-- has. Finished messages are copied from records of their own.
local deliver_shared
if least_shared and not keeps then
  function deliver_shared(ids, dues)
    if #ids < least_shared or redis.call('HLEN', claims) >= MOST then return false end
    local envelopes = redis.call('HMGET', messages, unpack(ids))
    for i = 1, #ids do
      if not envelopes[i] then return false end
    end
    local field = token_start .. string.format('%d', number + 1)
    if has_keys then
      for i = 1, #ids do note_delivery(ids[i], true) end
    else
      redis.call('ZREMRANGEBYRANK', scheduled, 0, #ids - 1)
    end
    redis.call('ZADD', inflight, deadline, '\0' .. field)
    redis.call('HSET', claims, field, #ids .. ' ' .. dues .. GAP .. table.concat(ids, GAP) .. GAP)
    shared[#shared + 1] = taken .. ',' .. #ids
    announced[#announced + 1] = dues
    local at = 2 * taken + HEAD
    for i = 1, #ids do
      reply[at + 1], reply[at + 2] = ids[i], envelopes[i]
      at = at + 2
      bytes = bytes + #envelopes[i]
    end
    number, taken = number + #ids, taken + #ids
    return true
  end
end
