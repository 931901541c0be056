-- A write to a key that holds another type than ours fails, and what the script has written before stays. So a script asks
-- all keys that it may write to first: where one is of another type it fails here, with nothing written, and the caller
-- sets that key aside (set-keys-aside).
local function assert_sets(...)
  for i = 1, select('#', ...) do redis.call('ZCARD', (select(i, ...))) end
end

local function assert_hashes(...)
  for i = 1, select('#', ...) do redis.call('HLEN', (select(i, ...))) end
end
