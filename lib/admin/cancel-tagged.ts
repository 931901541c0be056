import { MAX_BATCH, type Partition, type PeekRequest } from '../broker/broker.interface.js';
import { assertTag } from '../messages/tags.js';
import { partitionCount, partitionsOf } from '../topics/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type BulkStep, runBulk } from './bulk.js';
import { type CancelTaggedCounts, type ClearOptions, checkedCancelOptions } from './bulk-options.js';

/** What a cancel takes of the messages that carry a tag. */
const CANCELLED_STATES = ['scheduled', 'in-flight'] as const satisfies readonly PeekRequest['state'][];

/** Bytes after which a page of those that are counted ends. */
const MOST_BYTES = 262_144;

type Totals = { -readonly [K in 'cancelled' | 'inFlight']: CancelTaggedCounts[K] };

/**
 * Cancels all messages that carry a tag, some with each call.
 *
 * @param begin called before the first step
 * @throws InvalidArgumentError, ConfigurationError, BrokerUnavailableError
 */
export async function cancelTagged(
  dependencies: AdminDependencies,
  topic: string,
  { tag, options, begin }: { tag: string; options: ClearOptions; begin: () => Promise<void> },
): Promise<CancelTaggedCounts> {
  assertTag('tag', tag);
  const checked = checkedCancelOptions(options);
  const partitions = partitionsOf(
    topic,
    (await served(dependencies, () => partitionCount(dependencies.broker, topic))) ?? 0,
  );
  const totals: Totals = { cancelled: 0, inFlight: 0 };
  const steps = partitions.map((partition) =>
    checked.dryRun ? countingIn(dependencies, partition, tag) : cancellingIn(dependencies, partition, tag, totals),
  );
  const { matched } = await runBulk(dependencies, steps, checked, begin);
  return { matched, ...totals };
}

async function* countingIn(
  dependencies: AdminDependencies,
  partition: Partition,
  tag: string,
): AsyncGenerator<BulkStep, void> {
  for (const state of CANCELLED_STATES) {
    let after: PeekRequest['after'];
    do {
      const request = { state, tag, after, limit: MAX_BATCH, maxBytes: MOST_BYTES };
      const page = await served(dependencies, () => dependencies.broker.peek(partition, request));
      yield { matched: page.messages.length, apply: async () => 0 };
      after = page.next;
    } while (after !== undefined);
  }
}

async function* cancellingIn(
  { broker }: AdminDependencies,
  partition: Partition,
  tag: string,
  totals: Totals,
): AsyncGenerator<BulkStep, void> {
  let after: string | undefined;
  let more: boolean;
  do {
    more = false;
    yield {
      matched: undefined,
      apply: async (call) => {
        const { cancelled, inFlight, next } = await broker.cancelTagged(partition, call, tag, after);
        totals.cancelled += cancelled;
        totals.inFlight += inFlight;
        after = next;
        more = next !== undefined;
        return cancelled + inFlight;
      },
    };
  } while (more);
}
