import { hash, randomBytes } from 'node:crypto';
import type { OccurrenceSeries } from '../broker/broker.interface.js';
import { SEPARATOR, toStoredId } from '../messages/stored-id.js';

/** Enough for what is asked for in one millisecond. */
const WORD_BYTES = 6;

/** The id of the message of an occurrence: whoever publishes it, it is the same. */
export function occurrenceId(schedule: string, time: number): string {
  return `${schedule}@${new Date(time).toISOString()}`;
}

/** The id of a message that somebody has asked for; none that is published at its time has the same. */
export function extraId(schedule: string, time: number): string {
  return `${occurrenceId(schedule, time)}/${randomBytes(WORD_BYTES).toString('base64url')}`;
}

/**
 * The same for an operation that may be asked for again: its message has the same id each time. The digit makes it one of the
 * {@link seriesOf series}, and one that is found among the latest.
 */
export function extraIdOf(schedule: string, operation: string): string {
  return `${schedule}@9/${hash('sha256', operation, 'base64url')}`;
}

/** What the stored ids of all messages of a schedule have in common. */
export function seriesOf(schedule: string, key: string): OccurrenceSeries {
  return { prefix: toStoredId(`${schedule}@`), suffix: SEPARATOR + toStoredId(key) };
}
