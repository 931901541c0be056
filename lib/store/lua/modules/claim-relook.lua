-- After a change of the limits of keys, looks anew at what the old ones hold back, a part of it with each claim, however long it was to wait.
-- `relook` says how far that has come: 'r' and the cursor of a scan of `rates`, then 'q' and the last key of `queues`; nil if nothing is left.
-- @needs queues, places, rates, resting, is_repeat, CHUNK
-- @use claim-terms (key_max, key_rate, key_window, is_limited)
-- @use claim-mode (order_mode, known_terms, relook, has_keys)
-- @use key-limits (CHUNK_OF_KEYS, wake_keys)
-- @use claim-reply (reply)

if order_mode and not is_repeat and reply[2] == 1 then
  local these_terms = string.format('%d %d %d', key_max, key_rate, key_window)
  if known_terms ~= these_terms and (known_terms or is_limited) then
    if known_terms then relook = 'r0' end
    redis.call('HSET', places, 'terms', these_terms)
  end
end

if relook and has_keys and not is_repeat and reply[2] == 1 then
  local function look_at_resting(cursor)
    local page = redis.call('HSCAN', rates, cursor, 'COUNT', CHUNK_OF_KEYS)
    local keys, fields = {}, page[2]
    for i = 1, #fields, 2 do
      if redis.call('ZSCORE', resting, fields[i]) then keys[#keys + 1] = fields[i] end
    end
    wake_keys(keys, CHUNK)
    if page[1] ~= '0' then return 'r' .. page[1] end
    return order_mode == 'limits' and 'q' or nil
  end

  local function look_at_parked(key)
    for _ = 1, CHUNK_OF_KEYS do
      local entry = redis.call('ZRANGEBYLEX', queues, key == '' and '-' or '(' .. key .. '\1', '+', 'LIMIT', 0, 1)[1]
      key = entry and string.match(entry, '^(%Z*)%z')
      if not key then return nil end
      -- It is not due before it has rested.
      if not redis.call('ZSCORE', resting, key) then wake_keys({ key }, CHUNK) end
    end
    return 'q' .. key
  end

  local phase, place = string.sub(relook, 1, 1), string.sub(relook, 2)
  if phase == 'r' then relook = look_at_resting(place) else relook = look_at_parked(place) end
  if relook then redis.call('HSET', places, 'relook', relook) else redis.call('HDEL', places, 'relook') end
elseif relook and not has_keys then
  relook = nil
  redis.call('HDEL', places, 'relook')
end
