/** Parts of the library that the contender `bare scripts` uses; bundled, since the library does not export them. */
export { CLAIM_HEAD, NUMBERS_PER_RECORD } from '../lib/broker/redis/records/replies.js';
export { RedisKeys } from '../lib/broker/redis/redis-keys.js';
export { scriptOf } from '../lib/broker/redis/scripts/scripts.js';
export { toStoredId } from '../lib/messages/stored-id.js';
