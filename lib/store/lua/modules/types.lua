-- A write to a key that holds another type than ours fails, and earlier writes of the script stay. So a script reads
-- all keys that it may write to first: if one is of another type it fails here, with nothing written, and the caller sets
-- that key aside (set-keys-aside).
-- @exports assert_sets, assert_hashes

local function assert_sets(...)
  for _, key in ipairs({ ... }) do redis.call('ZCARD', key) end
end

local function assert_hashes(...)
  for _, key in ipairs({ ... }) do redis.call('HLEN', key) end
end
