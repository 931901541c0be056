import {
  MAX_BATCH,
  type Broker,
  type Death,
  type ListedDeadLetter,
  type Partition,
} from '../broker/broker.interface.js';
import { type CheckedFilter, asksForFailures, isMeant } from './checked-filter.js';

export interface DeadLetterScanOptions {
  readonly store: Pick<Broker, 'listDead'>;
  readonly partition: Partition;
  readonly filter: CheckedFilter;
  /** Whether to bring failures along that the filter does not ask for. */
  readonly withFailures?: boolean;
  /** Makes a call until it is served. */
  readonly serve: <T>(call: () => Promise<T>) => Promise<T>;
}

/**
 * Reads the dead letters of a partition that a filter means, page by page. What was there all along is read once; what dies
 * after the first page is not read, so that a message which is requeued and dies again does not keep the scan going.
 */
export async function* scanDeadLetters(options: DeadLetterScanOptions): AsyncGenerator<ListedDeadLetter[], void> {
  const { store, partition, filter, serve } = options;
  const { withFailures = asksForFailures(filter) } = options;
  let until = filter.until;
  let after: Death | undefined;
  do {
    const query = { after, since: filter.since, until, limit: MAX_BATCH, withFailures };
    const { letters, next, now } = await serve(() => store.listDead(partition, query));
    until = Math.min(until ?? Infinity, now + 1);
    after = next;
    const meant = letters.filter((letter) => isMeant(letter, filter));
    if (meant.length > 0) yield meant;
  } while (after !== undefined);
}
