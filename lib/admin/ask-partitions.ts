import type { Broker, Partition } from '../broker/broker.interface.js';
import { serveWithin } from '../broker/serve.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { within } from '../time/deadline.js';
import { partitionsOf } from '../topics/partitions.js';
import type { AdminDependencies } from './admin-dependencies.js';

/** Partitions that are asked at a time: a fleet of thousands must not keep other calls waiting. */
const AT_ONCE = 8;

/** Longest time for an answer once a partition has given none, in milliseconds: what is away is not waited for again and again. */
const PATIENCE_AFTER_FAILURE = 1000;

/** What partitions have answered. */
export interface PartitionAnswers<T> {
  /** In the order in which they were to be asked. */
  readonly answers: readonly (readonly [Partition, T])[];
  /** Those that have not answered in time, such as those of a shard that is away. */
  readonly unreachable: readonly Partition[];
}

/**
 * Asks each partition on its own, so that one shard of a Cluster that is away does not hide what the others hold.
 *
 * @throws BrokerUnavailableError if none of those that are asked first answers, or if one refuses for good
 */
export async function askPartitions<T>(
  { broker, clock, timeout }: Pick<AdminDependencies, 'broker' | 'clock' | 'timeout'>,
  partitions: readonly Partition[],
  ask: (broker: Broker, partition: Partition) => Promise<T>,
): Promise<PartitionAnswers<T>> {
  const answers: [Partition, T][] = [];
  const unreachable: Partition[] = [];
  let failure: BrokerUnavailableError | undefined;
  for (let begin = 0; begin < partitions.length; begin += AT_ONCE) {
    const isShort = failure !== undefined;
    const asking = partitions.slice(begin, begin + AT_ONCE).map(async (partition) => {
      const call = async (): Promise<T> => ask(broker, partition);
      const patience = Math.min(timeout, PATIENCE_AFTER_FAILURE);
      return isShort ? within(clock, patience, call(), { error: noAnswer }) : serveWithin(clock, timeout, call);
    });
    const results = await Promise.allSettled(asking);
    for (const [i, result] of results.entries()) {
      const partition = partitions[begin + i] as Partition;
      if (result.status === 'fulfilled') answers.push([partition, result.value]);
      else {
        const error: unknown = result.reason;
        if (!(error instanceof BrokerUnavailableError) || !error.transient) throw error;
        failure ??= error;
        unreachable.push(partition);
      }
    }
    if (failure && answers.length === 0) throw failure;
  }
  return { answers, unreachable };
}

/**
 * The partitions of a topic; none if it was never used. The list of all topics has their number too, so it is known although the shard
 * of the topic itself is away.
 */
export async function partitionsToAsk(broker: Broker, topic: string): Promise<Partition[]> {
  const [listed] = await broker.configsOf([topic]).catch((error: unknown) => {
    if (error instanceof BrokerUnavailableError && error.transient) return [undefined];
    throw error;
  });
  return partitionsOf(topic, (listed ?? (await broker.configOf(topic)))?.partitions ?? 0);
}

function noAnswer(): BrokerUnavailableError {
  return new BrokerUnavailableError('No answer from Redis in time.');
}
