import { GatheredCalls } from '../calls/gathered-calls.js';
import { timeOrNone } from '../calls/replies.js';
import type { Reply } from '../driver.interface.js';
import { sessionOfOwner } from '../fleet/owner.js';
import type { PartitionKeys, StoreKeys } from '../keys.js';
import type { Partition } from '../partition.js';
import type { StoreOptions } from '../store-options.interface.js';

export const COUNTERS = [
  'published',
  'delivered',
  'acked',
  'retried',
  'died',
  'cancelled',
  'expired',
  'stale',
  'repaired',
] as const;

export type PartitionCounters = Readonly<Record<(typeof COUNTERS)[number], number>>;

export interface PartitionStats {
  readonly scheduled: number;
  /** Number of the scheduled ones that are due and not blocked. */
  readonly due: number;
  /** Number of the scheduled ones that wait behind others of their key, or for its limits. */
  readonly blocked: number;
  /** Number of the blocked ones that are due. */
  readonly blockedDue: number;
  readonly inFlight: number;
  readonly dead: number;
  /** Number of messages that are kept though they have ended. */
  readonly finished: number;
  /** Number of messages whose last attempt failed, and that are tried again: they wait, or are in flight. */
  readonly retrying: number;
  readonly nextDueAt: number | undefined;
  /** Earliest due time of the blocked ones that are due; `undefined` if none is. */
  readonly oldestBlockedDueAt: number | undefined;
  /** Session that is stored as its owner, whether or not it has ended; `undefined` if the partition was released. */
  readonly owner: string | undefined;
  readonly paused: boolean;
  /** Time before which nothing is handed out, epoch milliseconds; `undefined` if it is not held. */
  readonly heldUntil: number | undefined;
  /** Since the partition was created. */
  readonly counters: PartitionCounters;
}

/** Most times of `countDue`. */
export const MAX_DUE_TIMES = 201;

/** Counts of the messages that wait in a partition, by due time. */
export interface DueCounts {
  readonly scheduled: number;
  /** Number of them that are due, including those that others of their key keep waiting. */
  readonly due: number;
  /** For each requested time, the number that are due before it. */
  readonly before: readonly number[];
}

/** Counts the contents of partitions, several by one call. */
export class PartitionCounts {
  readonly #keys: StoreKeys;
  readonly #stats: GatheredCalls<PartitionKeys, undefined, Reply>;
  readonly #dueCounts: GatheredCalls<PartitionKeys, readonly number[], Reply>;

  constructor({ driver, keys }: StoreOptions) {
    this.#keys = keys;
    this.#stats = new GatheredCalls({
      ask: async (places) => driver.runForEach('stats', places, {}),
      most: () => driver.mostPlaces,
    });
    this.#dueCounts = new GatheredCalls({
      ask: async (places, times) => driver.runForEach('count-due', places, { rest: times }),
      most: (times) => Math.max(1, Math.min(driver.mostPlaces, Math.floor(MAX_DUE_TIMES / times.length))),
    });
  }

  async stats(partition: Partition): Promise<PartitionStats> {
    return partitionStats(await this.#stats.ask(this.#keys.partition(partition), undefined));
  }

  async countDue(partition: Partition, times: readonly number[]): Promise<DueCounts> {
    return dueCounts(await this.#dueCounts.ask(this.#keys.partition(partition), times), times.length);
  }
}

function partitionStats(reply: Reply): PartitionStats {
  const [scheduled, due, inFlight, dead, nextDueAt, owner, blocked, finishedCount, retrying, ...times] = reply;
  const [heldUntil, blockedDue, oldestBlockedDueAt, ...meta] = times;
  const fields = new Map<string, string>();
  for (let i = 0; i < meta.length; i += 2) fields.set(meta[i] as string, meta[i + 1] as string);
  return {
    scheduled: scheduled as number,
    due: due as number,
    blocked: blocked as number,
    blockedDue: blockedDue as number,
    inFlight: inFlight as number,
    dead: dead as number,
    finished: finishedCount as number,
    retrying: retrying as number,
    nextDueAt: timeOrNone(nextDueAt),
    oldestBlockedDueAt: timeOrNone(oldestBlockedDueAt),
    owner: sessionOfOwner(owner as string),
    paused: fields.has('paused'),
    heldUntil: timeOrNone(heldUntil),
    counters: Object.fromEntries(
      COUNTERS.map((counter) => [counter, Number(fields.get(counter) ?? 0)]),
    ) as PartitionCounters,
  };
}

/** @param times number that was asked for: the reply does not repeat its last count */
function dueCounts([scheduled, due, ...before]: Reply, times: number): DueCounts {
  const last = before.at(-1) as number;
  return {
    scheduled: scheduled as number,
    due: due as number,
    before: Array.from({ length: times }, (_, i) => (before[i] as number | undefined) ?? last),
  };
}
