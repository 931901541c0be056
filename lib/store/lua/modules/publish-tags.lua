-- The tags that messages are published with.
-- @exports tags_of, tag
-- @needs meta, tags, tagged, had_tags, ARGV, FIRST
-- @use message-columns (tag_lists)
-- @use tags (MOST_TAGS, MANY_MEMBERS, tag_count)
-- @use long-entry (MANY, MOST_LISTED, LONG_ENTRY)

local find, sub = string.find, string.sub

-- By the number of a message: its tags, with NUL between them, and where they begin and end; nil for those without.
local tags_of = {}
local begin_of, end_of, tags_at = {}, {}, 1
for n = 1, tag_lists == '' and 0 or (#ARGV - FIRST + 1) / 2 do
  if string.byte(tag_lists, tags_at) == 0 then
    tags_at = tags_at + 1
  else
    local last = find(tag_lists, '\0\0', tags_at, true)
    tags_of[n], begin_of[n], end_of[n] = sub(tag_lists, tags_at, last - 1), tags_at, last
    tags_at = last + 2
  end
end

-- Makes messages findable by their tags; takes the numbers of those that carry some, 200 at most.
local function tag(numbers)
  local are_new_lists = #numbers >= MANY and tag_count < MOST_LISTED
  local fields, members = are_new_lists and { LONG_ENTRY, '' } or {}, are_new_lists and { '0', LONG_ENTRY } or {}
  local before, size = #fields, #members
  for i = 1, #numbers do
    local n = numbers[i]
    local id, from, last = ARGV[FIRST + 2 * n - 2], begin_of[n], end_of[n]
    fields[before + 1], fields[before + 2] = id, tags_of[n]
    before = before + 2
    for _ = 1, MOST_TAGS do
      local to = find(tag_lists, '\0', from, true)
      -- With the NUL behind it.
      members[size + 1], members[size + 2] = '0', sub(tag_lists, from, to) .. id
      size, from = size + 2, to + 1
      if to == last then break end
    end
    if size >= MANY_MEMBERS or i == #numbers then
      redis.call('ZADD', tagged, unpack(members))
      members, size = {}, 0
    end
  end
  redis.call('HSET', tags, unpack(fields))
  if are_new_lists then
    redis.call('ZREM', tagged, LONG_ENTRY)
    redis.call('HDEL', tags, LONG_ENTRY)
  end
  if not had_tags then redis.call('HSET', meta, 'tagged', '1') end
  had_tags = true
end
