import type { PartitionWatchers } from './partition-watchers.js';
import type { StoreKeys } from './keys.js';
import type { Driver } from './driver.interface.js';

/** Parts that the operations work with. */
export interface StoreOptions {
  readonly driver: Driver;
  readonly keys: StoreKeys;
  readonly watchers: PartitionWatchers;
}
