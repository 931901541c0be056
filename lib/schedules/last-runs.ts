import type { StoredMessage } from '../store/messages/stored-message.js';
import type { Partition } from '../store/partition.js';
import { settleSome } from '../store/calls/settle-some.js';
import type { FinishedOutcome } from '../errors/publishing.errors.js';
import { toStoredId } from '../messages/stored-id.js';
import { occurrenceId } from './schedule-record.js';
import type { Schedule } from './schedule.interface.js';

/** Outcome of a run. `failed`: it will be retried; `unknown`: it has ended, and nothing of it is kept. */
export type RunOutcome = 'waiting' | 'running' | 'failed' | 'dead' | 'unknown' | FinishedOutcome;

/** Outcome of the latest occurrence of a schedule. */
export interface LastRun {
  /** Id of its message. */
  readonly id: string;
  readonly key: string;
  readonly outcome: RunOutcome;
  /** Name of the error that it failed with, if it has not been handled since. */
  readonly failure: string | undefined;
}

/**
 * Reads the outcome of the latest occurrence of each schedule, with one call for each that has one.
 *
 * @returns outcomes in the order of the schedules; `undefined` if it has never occurred, or the outcome is unknown now
 */
export async function lastRuns(
  schedules: readonly Schedule[],
  get: (partition: Partition, storedId: string) => Promise<StoredMessage | undefined>,
): Promise<(LastRun | undefined)[]> {
  const runs = await settleSome(schedules, async ({ id, topic, partition, key, last }) => {
    if (!last) return undefined;
    const messageId = occurrenceId(id, last.getTime());
    const message = await get({ topic, index: partition }, toStoredId(messageId, key));
    const outcome = outcomeOf(message);
    const failure = outcome === 'failed' || outcome === 'dead' ? message?.failure?.name : undefined;
    return { id: messageId, key, outcome, failure };
  });
  return runs.map((run) => (run.status === 'fulfilled' ? run.value : undefined));
}

function outcomeOf(message: StoredMessage | undefined): RunOutcome {
  switch (message?.state) {
    case 'scheduled':
      return message.attempts > 0 ? 'failed' : 'waiting';
    case 'in-flight':
      return 'running';
    case 'dead':
      return 'dead';
    default:
      return message?.ending?.outcome ?? 'unknown';
  }
}
