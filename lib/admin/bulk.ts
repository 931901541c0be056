import { v7 as uuidv7 } from 'uuid';
import { type CallId, MAX_BATCH } from '../store/partition.js';
import { sleep } from '../time/sleep.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import type { BulkResult, CheckedBulkOptions } from './bulk-options.js';
import type { MessageDetails } from './message-details.js';

/** Steps per second at a given rate: a bulk operation proceeds in small portions. */
const STEPS_PER_SECOND = 10;

/** Most concurrent calls of one step. */
const LANES = 16;

/** Most examples of a dry run. */
const MAX_EXAMPLES = 3;

/** One step of a bulk operation. */
export interface BulkStep {
  /** Messages that the operation meets for the first time in this step. */
  readonly matched: number;
  /**
   * Makes the calls.
   *
   * @returns the number of messages that they changed
   */
  readonly apply: (send: Send) => Promise<number>;
  /** Returns at most `most` of the messages, for a dry run. */
  readonly examples: (most: number) => Promise<readonly MessageDetails[]>;
}

/**
 * Makes a call that changes something, and repeats it under the same name until it is served.
 *
 * @param lane lane of the call; calls of one lane run one after another, see {@link inLanes}
 */
export type Send = <T>(change: (call: CallId) => Promise<T>, lane?: number) => Promise<T>;

/** Returns the most messages of one step. */
export function stepSize({ dryRun, rate }: CheckedBulkOptions): number {
  if (dryRun || rate === undefined) return MAX_BATCH;
  return Math.max(1, Math.min(MAX_BATCH, Math.floor(rate / STEPS_PER_SECOND)));
}

/**
 * Takes the steps of a bulk operation in turn, one of each partition, so that no partition has to wait for all of another.
 * A dry run only counts. Confirmed steps stay in effect if a later one fails, so the operation can be repeated.
 *
 * @param partitions the steps of each partition
 * @param begin called before the first step that changes something
 * @throws BrokerUnavailableError if a step was not confirmed in time
 */
export async function runBulk(
  dependencies: AdminDependencies,
  partitions: readonly AsyncGenerator<BulkStep, void>[],
  { dryRun, rate = Infinity, signal, onProgress }: CheckedBulkOptions,
  begin?: () => Promise<void>,
): Promise<BulkResult> {
  const { clock } = dependencies;
  // Separate callers, so that concurrent calls are not taken for each other's repeats.
  const callers = Array.from({ length: LANES }, () => uuidv7());
  let sequence = 0;
  const send: Send = async (change, lane = 0) => {
    const call: CallId = { caller: callers[lane] as string, sequence: ++sequence };
    return served(dependencies, () => change(call));
  };
  let [matched, changed] = [0, 0];
  const examples: MessageDetails[] = [];
  /** Time at which the rate allows the next step. */
  let nextAt = 0;
  let hasBegun = false;
  let { aborted } = signal;
  for await (const step of aborted ? [] : byTurns(partitions)) {
    const now = clock.now();
    const startAt = Math.max(now, nextAt);
    if (startAt > now) await sleep(clock, startAt - now, signal);
    aborted = signal.aborted;
    if (aborted) break;
    matched += step.matched;
    if (dryRun) {
      const missing = MAX_EXAMPLES - examples.length;
      if (missing > 0) examples.push(...(await step.examples(missing)));
    } else {
      if (!hasBegun) await begin?.();
      hasBegun = true;
      const changedNow = await step.apply(send);
      changed += changedNow;
      nextAt = startAt + (changedNow / rate) * 1000;
    }
    onProgress?.({ matched, changed });
  }
  return { matched, changed, aborted, examples: dryRun ? examples : undefined };
}

/**
 * Runs `work` for each item, in several lanes at a time. After the first failure it begins no more items, and rejects when all that have
 * begun have ended.
 */
export async function inLanes<T>(items: readonly T[], work: (item: T, lane: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    while (next < items.length) {
      const item = items[next++] as T;
      try {
        await work(item, lane);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  });
  for (const lane of await Promise.allSettled(lanes)) if (lane.status === 'rejected') throw lane.reason;
}

/** Yields the next value of each generator in turn, until all have ended. */
async function* byTurns<T>(generators: readonly AsyncGenerator<T, void>[]): AsyncGenerator<T, void> {
  let open = generators;
  while (open.length > 0) {
    const going: AsyncGenerator<T, void>[] = [];
    for (const generator of open) {
      const { value, done } = await generator.next();
      if (done) continue;
      yield value;
      going.push(generator);
    }
    open = going;
  }
}
