import type { Broker } from '../store/broker.interface.js';
import type { Partition } from '../store/partition.js';
import { settleSome } from '../store/calls/settle-some.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { partitionsOf } from '../store/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';

/** Most partitions to ask at a time: a fleet of thousands must not keep other calls waiting. */
const AT_ONCE = 128;

/** Answers of partitions. */
export interface PartitionAnswers<T> {
  /** In the order of the given partitions. */
  readonly answers: readonly (readonly [Partition, T])[];
  /** Partitions that did not answer in time, such as those of a shard that is down. */
  readonly unreachable: readonly Partition[];
}

/**
 * Asks each partition on its own, so that one Cluster shard that is down does not hide what the others hold.
 *
 * @throws BrokerUnavailableError if none answers, or if one refuses for good
 */
export async function askPartitions<T>(
  dependencies: Pick<AdminDependencies, 'clock' | 'timeout'>,
  partitions: readonly Partition[],
  ask: (partition: Partition) => Promise<T>,
): Promise<PartitionAnswers<T>> {
  return answersOf(partitions, await settlePartitions(dependencies, partitions, ask));
}

/**
 * Asks each partition on its own, some at a time.
 *
 * @returns in the order of the partitions
 */
export async function settlePartitions<T>(
  dependencies: Pick<AdminDependencies, 'clock' | 'timeout'>,
  partitions: readonly Partition[],
  ask: (partition: Partition) => Promise<T>,
): Promise<PromiseSettledResult<T>[]> {
  return settleSome(partitions, async (partition) => served(dependencies, () => ask(partition)), AT_ONCE);
}

/**
 * Separates the partitions that answered from those that are unreachable.
 *
 * @throws BrokerUnavailableError if none has answered, or if one has refused for good
 */
export function answersOf<T>(
  partitions: readonly Partition[],
  results: readonly PromiseSettledResult<T>[],
): PartitionAnswers<T> {
  const answers: [Partition, T][] = [];
  const unreachable: Partition[] = [];
  let failure: BrokerUnavailableError | undefined;
  for (const [i, result] of results.entries()) {
    const partition = partitions[i] as Partition;
    if (result.status === 'fulfilled') answers.push([partition, result.value]);
    else {
      const error: unknown = result.reason;
      if (!(error instanceof BrokerUnavailableError) || !error.transient) throw error;
      failure ??= error;
      unreachable.push(partition);
    }
  }
  if (failure && answers.length === 0) throw failure;
  return { answers, unreachable };
}

/**
 * Returns the partitions of a topic; none if it was never used. The list of all topics has their number too, so it is known even if the
 * shard of the topic itself is down.
 */
export async function partitionsToAsk(broker: Broker, topic: string): Promise<Partition[]> {
  const [listed] = await broker.fleet.configsOf([topic]).catch((error: unknown) => {
    if (error instanceof BrokerUnavailableError && error.transient) return [undefined];
    throw error;
  });
  return partitionsOf(topic, (listed ?? (await broker.fleet.configOf(topic)))?.partitions ?? 0);
}
