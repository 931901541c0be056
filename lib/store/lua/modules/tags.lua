-- Messages are found by their tags. `tags` has those of each message that carries some: stored id -> tags, with NUL between them; `tagged` has '<tag> NUL <stored id>' for
-- each of them, all with score 0. meta has `tagged`, which is asked[2], once a message was published with tags: until then tags are not looked up.
-- Use this before anything is written.
-- @exports has_tags, tag_count, MOST_TAGS, MANY_MEMBERS, carries, untag, list_tagged
-- @needs tags, tagged, asked

local MOST_TAGS = 8
local MANY_MEMBERS = 400
local has_tags = asked[2]
local find, sub = string.find, string.sub

-- Messages with tags; nil if they are not looked up.
local tag_count
local carries, untag, list_tagged
-- Other partitions do without all this.
if has_tags then
  tag_count = redis.call('HLEN', tags)
  redis.call('ZCARD', tagged)

  -- Reads stored tags, written by any program.
  local function split_tags(text)
    local result = {}
    for tag in string.gmatch(text, '[^%z]+') do
      result[#result + 1] = tag
      if #result == MOST_TAGS then break end
    end
    return result
  end

  function carries(text, wanted)
    for _, tag in ipairs(split_tags(text or '')) do
      if tag == wanted then return true end
    end
    return false
  end

  -- Removes the tags of messages that are gone, or get other ones; at most 200 at a time.
  function untag(ids)
    local stored, with_tags, members, count = redis.call('HMGET', tags, unpack(ids)), {}, {}, 0
    for i = 1, #ids do
      local text, id, from, most = stored[i], ids[i], 1, count + MOST_TAGS
      if text then with_tags[#with_tags + 1] = id end
      -- As `split_tags`, without a list for each message.
      while text and from and count < most do
        local to = find(text, '\0', from, true)
        if to ~= from and from <= #text then
          count = count + 1
          members[count] = to and sub(text, from, to) .. id or sub(text, from) .. '\0' .. id
        end
        from = to and to + 1
      end
      if count >= MANY_MEMBERS then
        redis.call('ZREM', tagged, unpack(members))
        members, count = {}, 0
      end
    end
    if count > 0 then redis.call('ZREM', tagged, unpack(members)) end
    if #with_tags > 0 then redis.call('HDEL', tags, unpack(with_tags)) end
  end

  -- Returns the messages that carry a tag and come behind this stored id, and the entry of each in `tags`.
  function list_tagged(tag, after, limit)
    local from = after == '' and '[' .. tag .. '\0' or '(' .. tag .. '\0' .. after
    local members = redis.call('ZRANGEBYLEX', tagged, from, '(' .. tag .. '\1', 'LIMIT', 0, limit)
    local ids = {}
    for i = 1, #members do ids[i] = string.sub(members[i], #tag + 2) end
    return ids, #ids > 0 and redis.call('HMGET', tags, unpack(ids)) or {}
  end
end
