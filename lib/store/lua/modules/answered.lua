-- A caller numbers its calls to a partition and makes one after another, so its latest answer is enough to recognize the
-- repeat of a call whose reply was lost.
-- @exports time_kept, earlier_answer, remember
-- @needs answered, sequence

-- Returns how many milliseconds an answer is kept: as many as asked for, or two minutes (nil or '').
local function time_kept(asked)
  return asked and asked ~= '' and asked or '120000'
end

local function earlier_answer()
  local stored = redis.call('GET', answered)
  local last, answer = string.match(stored or '', '^#(%d+) (.*)$')
  if last == sequence then return answer end
  -- This copy was delayed on its way: its caller has given it up, and gone on.
  if last and tonumber(last) > tonumber(sequence) then error('OUTDATED a later call of the same caller was served') end
  return nil
end

local function remember(answer, asked)
  redis.call('SET', answered, '#' .. sequence .. ' ' .. answer, 'PX', time_kept(asked))
end
