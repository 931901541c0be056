-- Ends deliveries that share records, if all of them have succeeded and are the current ones. If not, their messages are brought out, and end by
-- records of their own.
-- @exports are_shared, own, own_tokens, emptied, rewritten, bring_out_shares
-- @needs scheduled, blocked, claims, outcomes, ids, order_mode
-- @use finished (keeps)
-- @use shared-records (GAP, parse_claim, places_of, bring_out)
-- @use settle-tokens (total, tokens_of, shares)

-- A claim of which so small a part ends is brought out: to write its record anew each time would cost more.
local SMALL_PART = 0.25

-- Fields of which nothing is left; and the others, with their new records.
local emptied, rewritten

local are_shared, bring_out_shares = false, nil
-- The messages with records of their own, and the tokens of their deliveries.
local own, own_tokens = ids, tokens_of
if #shares > 0 then
  emptied, rewritten = {}, {}

  -- Whether a share is all that its claim has, in the same order.
  local function is_whole(share, left, listed)
    local count = share.last - share.first + 1
    if share.first ~= 1 or left ~= count then return false end
    return string.sub(listed, #GAP + 1, -#GAP - 1) == table.concat(ids, GAP, share.before + 1, share.before + count)
  end

  local function are_current()
    -- One that waits was published anew by a process that cannot read these records, and took the old message for damage.
    local waiting = redis.call('ZMSCORE', scheduled, unpack(ids))
    local behind = order_mode and redis.call('ZMSCORE', blocked, unpack(ids)) or {}
    for n = 1, total do
      if (waiting[n] or behind[n]) and not tokens_of[n] then return false end
    end
    local opened = {}
    for _, share in ipairs(shares) do
      local claim = opened[share.field]
      if not claim then
        local left, dues, listed = parse_claim(redis.call('HGET', claims, share.field))
        if not left then return false end
        if is_whole(share, left, listed) then
          opened[share.field] = { left = 0, places = {} }
        else
          claim = { left = left, before = left, dues = dues, places = places_of(listed) }
          opened[share.field] = claim
        end
      end
      for place = share.first, claim and share.last or 0 do
        local id = claim.places[place]
        if not id or id == '' or id ~= ids[share.before + place - share.first + 1] then return false end
        claim.places[place] = ''
        claim.left = claim.left - 1
      end
    end
    for field, claim in pairs(opened) do
      if claim.left == 0 then
        emptied[#emptied + 1] = field
      elseif claim.before - claim.left < SMALL_PART * claim.before then
        return false
      else
        rewritten[#rewritten + 1] = field
        rewritten[#rewritten + 1] = claim.left .. ' ' .. claim.dues .. GAP .. table.concat(claim.places, GAP) .. GAP
      end
    end
    return true
  end

  function bring_out_shares()
    for _, share in ipairs(shares) do
      bring_out(share.field)
      for place = share.first, share.last do tokens_of[share.before + place - share.first + 1] = share.field .. '+' .. place .. ' ' end
    end
  end

  are_shared = outcomes == 'a' and not keeps and are_current()
  if are_shared then
    own, own_tokens = {}, {}
    for n = 1, total do
      if tokens_of[n] then own[#own + 1], own_tokens[#own + 1] = ids[n], tokens_of[n] end
    end
  else
    bring_out_shares()
  end
end
