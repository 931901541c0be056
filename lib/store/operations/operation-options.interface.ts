import type { PartitionWatchers } from '../partition-watchers.js';
import type { RedisKeys } from '../keys.js';
import type { Calls } from '../driver.interface.js';

/** What the operations work with. */
export interface OperationOptions {
  readonly calls: Calls;
  readonly keys: RedisKeys;
  readonly watchers: PartitionWatchers;
}
