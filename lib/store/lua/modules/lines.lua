-- Lines up messages, if there is an `order_mode`: each waits for its turn in the order of its key, or for the limits of its key.
-- @exports line_up, leave_line, leave_lines
-- @needs scheduled, order_mode
-- @use order (line_up_in_order, leave_order)
-- @use limits (leave_limits)

local line_up, leave_line, leave_lines
-- Other topics do without all this.
if order_mode then
  line_up, leave_lines = line_up_in_order, leave_order

  if order_mode == 'limits' then
    leave_lines = leave_limits

    -- As in an order, but the claim decides whether the key allows a message to begin.
    function line_up(id, due)
      redis.call('ZADD', scheduled, string.format('%d', due), id)
      return due
    end
  end

  -- Returns the due time of the next message, if that was waiting for this one.
  function leave_line(id) return leave_lines({ id }) end
end
