import { v7 as uuidv7 } from 'uuid';
import { MAX_BATCH, type CallId } from '../broker/broker.interface.js';
import { sleep } from '../time/sleep.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import type { CheckedBulkOptions } from './bulk-options.js';

/** Steps a second if a rate is given: a bulk operation goes on in small portions. */
const STEPS_PER_SECOND = 10;

/** What one call of a bulk operation can do. */
export interface BulkStep {
  /** Messages that are met with this step for the first time; `undefined`: those that it changes, which nobody has counted before. */
  readonly matched: number | undefined;
  /**
   * Makes the call. It is repeated under the same name until it is served.
   *
   * @returns how many messages it has changed
   */
  readonly apply: (call: CallId) => Promise<number>;
}

export interface BulkCounts {
  readonly matched: number;
  readonly changed: number;
  /** Whether the signal ended it before all steps were taken. */
  readonly aborted: boolean;
}

/** Most messages of one step. */
export function stepSize({ dryRun, rate }: CheckedBulkOptions): number {
  if (dryRun || rate === undefined) return MAX_BATCH;
  return Math.max(1, Math.min(MAX_BATCH, Math.floor(rate / STEPS_PER_SECOND)));
}

/**
 * Takes the steps of a bulk operation in turn, one of each partition, so that no partition has to wait for all of another.
 * A dry run only counts. Steps that were confirmed stay in effect if a later one fails, so the operation may be made again.
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
): Promise<BulkCounts> {
  const { clock } = dependencies;
  // A caller of its own, so that operations under way at the same time are not taken for each other's repeats.
  const caller = uuidv7();
  let sequence = 0;
  let [matched, changed] = [0, 0];
  /** When the rate allows the next step. */
  let nextAt = 0;
  for await (const step of byTurns(partitions)) {
    const now = clock.now();
    const startAt = Math.max(now, nextAt);
    if (startAt > now) await sleep(clock, startAt - now, signal);
    if (signal.aborted) return { matched, changed, aborted: true };
    matched += step.matched ?? 0;
    if (dryRun) {
      onProgress?.({ matched, changed });
      continue;
    }
    if (sequence === 0) await begin?.();
    const call: CallId = { caller, sequence: ++sequence };
    const changedNow = await served(dependencies, () => step.apply(call));
    changed += changedNow;
    if (step.matched === undefined) matched += changedNow;
    onProgress?.({ matched, changed });
    nextAt = startAt + (changedNow / rate) * 1000;
  }
  return { matched, changed, aborted: false };
}

/** The next value of each generator in turn, until all have ended. */
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
