-- How a publish has ended for a message, as the digit that is replied.
-- @exports CREATED, REPLACED, REJECTED, IGNORED, REJECTED_AS

local CREATED, REPLACED, REJECTED, IGNORED, REJECTED_AS
CREATED, REJECTED, IGNORED, REPLACED = '1', '2', '3', '4'
-- Since the message with this id is finished.
REJECTED_AS = { a = '5', c = '6', d = '7' }
