import {
  COUNTERS,
  type DueCounts,
  MAX_DUE_TIMES,
  type Partition,
  type PartitionCounters,
  type PartitionStats,
  sessionOfOwner,
} from '../broker.interface.js';
import { GatheredCalls } from './gathered-calls.js';
import type { OperationOptions } from './operation-options.interface.js';
import type { PartitionKeys, RedisKeys } from '../keys.js';
import { timeOrNone } from '../records/replies.js';
import type { Reply } from '../driver.interface.js';

/** Counts what partitions hold, several by one call. */
export class PartitionCounts {
  readonly #keys: RedisKeys;
  readonly #stats: GatheredCalls<PartitionKeys, undefined, Reply>;
  readonly #dueCounts: GatheredCalls<PartitionKeys, readonly number[], Reply>;

  constructor({ calls, keys }: OperationOptions) {
    this.#keys = keys;
    this.#stats = new GatheredCalls({
      ask: async (places) => calls.runForEach('stats', places, {}),
      most: () => calls.mostPlaces,
    });
    this.#dueCounts = new GatheredCalls({
      ask: async (places, times) => calls.runForEach('count-due', places, { rest: times }),
      most: (times) => Math.max(1, Math.min(calls.mostPlaces, Math.floor(MAX_DUE_TIMES / times.length))),
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

/** @param times how many were asked for: the reply does not repeat its last count */
function dueCounts([scheduled, due, ...before]: Reply, times: number): DueCounts {
  const last = before.at(-1) as number;
  return {
    scheduled: scheduled as number,
    due: due as number,
    before: Array.from({ length: times }, (_, i) => (before[i] as number | undefined) ?? last),
  };
}
