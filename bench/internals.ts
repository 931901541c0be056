/** Parts of the library that the contender `bare scripts` uses; bundled, since the library does not export them. */
export { CLAIM_HEAD, NUMBERS_PER_RECORD } from '../lib/store/deliveries/claim.js';
export { StoreKeys } from '../lib/store/keys.js';
export { scriptOf } from '../lib/engines/redis/scripts/scripts.js';
export { toStoredId } from '../lib/messages/stored-id.js';
