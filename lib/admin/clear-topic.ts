import type { Partition } from '../store/partition.js';
import { existingPartitions } from '../store/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type BulkStep, runBulk } from './bulk.js';
import { type BulkResult, type ClearOptions, checkedClearOptions } from './bulk-options.js';
import { type MessageDetails, toDetails } from './message-details.js';
import { MAX_PAGE_LENGTH } from './merged-list.js';

/** States that can be cleared. */
type ClearedState = 'scheduled' | 'dead';

/**
 * Removes all messages of one state. Unlike a filter, this needs no list of them.
 *
 * @param begin called before the first step
 * @throws InvalidArgumentError, ConfigurationError, BrokerUnavailableError
 */
export async function clearTopic(
  dependencies: AdminDependencies,
  topic: string,
  state: ClearedState,
  options: ClearOptions,
  begin?: () => Promise<void>,
): Promise<BulkResult> {
  const checked = checkedClearOptions(options);
  const partitions = await served(dependencies, () => existingPartitions(dependencies.broker, topic));
  const steps = partitions.map((partition) => stepsOf(dependencies, partition, state));
  return runBulk(dependencies, steps, checked, begin);
}

async function* stepsOf(
  dependencies: AdminDependencies,
  partition: Partition,
  state: ClearedState,
): AsyncGenerator<BulkStep, void> {
  const { broker } = dependencies;
  const stats = await served(dependencies, () => broker.messages.stats(partition));
  if (stats[state] === 0) return;
  let matched = stats[state];
  // Only a step that was applied can leave some: a dry run has one step.
  let more: boolean;
  do {
    more = false;
    yield {
      matched,
      examples: async (most) => firstOf(dependencies, partition, state, most),
      apply: async (send) => {
        const result = await send((call) => broker.messages.clear(partition, call, state));
        more = result.more;
        return result.removed;
      },
    };
    matched = 0;
  } while (more);
}

async function firstOf(
  dependencies: AdminDependencies,
  partition: Partition,
  state: ClearedState,
  most: number,
): Promise<MessageDetails[]> {
  const { broker, serializerOf } = dependencies;
  const request = { state, limit: most, maxBytes: MAX_PAGE_LENGTH };
  const { messages } = await served(dependencies, () => broker.messages.peek(partition, request));
  return messages.map((stored) => toDetails(partition, stored, serializerOf(partition.topic)));
}
