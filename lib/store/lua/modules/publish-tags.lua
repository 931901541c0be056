-- The tags that messages are published with.
-- @exports tags_of, tag
-- @needs meta, tags, tagged, had_tags, ARGV, FIRST
-- @use message-columns (tag_lists)
-- @use tags (MANY_MEMBERS, split_tags)

-- The tags of each message by its number, with NUL between them; nil for those without.
local tags_of = {}
local tags_at = 1
for n = 1, tag_lists == '' and 0 or (#ARGV - FIRST + 1) / 2 do
  if string.byte(tag_lists, tags_at) == 0 then
    tags_at = tags_at + 1
  else
    local last = string.find(tag_lists, '\0\0', tags_at, true)
    tags_of[n], tags_at = string.sub(tag_lists, tags_at, last - 1), last + 2
  end
end

-- Makes messages findable by their tags; takes the numbers of those that carry some, 200 at most.
local function tag(numbers)
  local fields, members = {}, {}
  for i = 1, #numbers do
    local id, text = ARGV[FIRST + 2 * numbers[i] - 2], tags_of[numbers[i]]
    fields[#fields + 1] = id
    fields[#fields + 1] = text
    for _, one in ipairs(split_tags(text)) do
      members[#members + 1] = 0
      members[#members + 1] = one .. '\0' .. id
    end
    if #members >= MANY_MEMBERS or i == #numbers then
      redis.call('ZADD', tagged, unpack(members))
      members = {}
    end
  end
  redis.call('HSET', tags, unpack(fields))
  if not had_tags then redis.call('HSET', meta, 'tagged', '1') end
  had_tags = true
end
