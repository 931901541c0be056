-- Needs: lock, token.
-- Only the import that holds the lock changes anything, and holds it for so long from then on.
local LOCK_MS = 10000

if redis.call('GET', lock) ~= token then return redis.error_reply('REFUSED another import has taken over') end
redis.call('PEXPIRE', lock, LOCK_MS)
