-- Finds which of the dead letters in ARGV are still there. Each has `stride` arguments from `first` on, which begin with its stored id
-- and its death. Returns those found, as { n = number, id = stored id }, and a status for each: '1' found, '0' not.
-- @exports dead_ids, ids_of
-- @needs dead, ARGV

local function dead_ids(first, stride)
  local ids, deaths = {}, {}
  for i = first, #ARGV, stride do
    ids[#ids + 1] = ARGV[i]
    deaths[#deaths + 1] = tonumber(ARGV[i + 1])
  end
  local scores = redis.call('ZMSCORE', dead, unpack(ids))
  local found, statuses, seen = {}, {}, {}
  for n = 1, #ids do
    statuses[n] = '0'
    if scores[n] and tonumber(scores[n]) == deaths[n] and not seen[ids[n]] then
      seen[ids[n]] = true
      statuses[n] = '1'
      found[#found + 1] = { n = n, id = ids[n] }
    end
  end
  return found, statuses
end

local function ids_of(found)
  local ids = {}
  for i = 1, #found do ids[i] = found[i].id end
  return ids
end
