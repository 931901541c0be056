-- Notes the length of an envelope that is over 10 KiB and the longest so far. Claims go by that length; most topics never see such an envelope.
-- @exports note_length
-- @needs meta

local LARGE = 10240

local function note_length(length)
  if length > LARGE and length > (tonumber(redis.call('HGET', meta, 'largest')) or 0) then
    redis.call('HSET', meta, 'largest', length)
  end
end
