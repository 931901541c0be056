import type { Broker, Partition } from '../broker/broker.interface.js';
import type { MessageChanges } from '../topics/message-changes.js';
import type { ClearCounts, ClearOptions } from './clear-options.interface.js';

export interface ClearRequest {
  readonly partitions: readonly Partition[];
  readonly state: 'scheduled' | 'dead';
  readonly options: ClearOptions;
}

type ClearedStore = Pick<Broker, 'stats' | 'clear'>;

/** Removes the messages of one state, partition by partition and step by step, so that nothing else waits for it. */
export async function clearTopic(
  store: ClearedStore,
  changes: MessageChanges,
  { partitions, state, options: { dryRun = false, signal } }: ClearRequest,
): Promise<ClearCounts> {
  const stopped = (): boolean => signal?.aborted === true;
  let [matched, removed] = [0, 0];
  for (const partition of partitions) {
    if (stopped()) break;
    const found = await changes.send(partition, async () => (await store.stats(partition))[state]);
    matched += found;
    let more = found > 0 && !dryRun;
    while (more && !stopped()) {
      const step = await changes.send(partition, (_, call) => store.clear(partition, call, state));
      removed += step.removed;
      more = step.more;
    }
  }
  return { matched, removed };
}
