-- Needs: answered, sequence.
-- A caller numbers its calls to a partition and makes one after another, so its latest answer is enough to recognize the
-- repeat of a call whose reply was lost.
local REMEMBER_MS = 120000

local function earlier_answer()
  local stored = redis.call('GET', answered)
  local last, answer = string.match(stored or '', '^(%S+) (.*)$')
  return last == sequence and answer or nil
end

local function remember(answer)
  redis.call('SET', answered, sequence .. ' ' .. answer, 'PX', REMEMBER_MS)
end
