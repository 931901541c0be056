/** Parts of the library that benchmarks use, and what is made of them; bundled, since the library does not export them. */
export { CLAIM_HEAD } from '../lib/store/deliveries/claim.js';
export { StoreKeys } from '../lib/store/keys.js';
export { scriptOf } from '../lib/engines/redis/scripts/scripts.js';
export { toStoredId } from '../lib/messages/stored-id.js';
export { openPartition } from './instructions/counted-partition.js';
export { openLeast } from './instructions/least-script.js';
