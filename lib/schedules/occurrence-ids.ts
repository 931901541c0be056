import type { OccurrenceSeries } from '../store/schedules/occurrence.js';
import { SEPARATOR, toStoredId } from '../messages/stored-id.js';

/** The id of the message of an occurrence: whoever publishes it, it is the same. */
export function occurrenceId(schedule: string, time: number): string {
  return `${schedule}@${new Date(time).toISOString()}`;
}

/** The id of a message that somebody has asked for; none that is published at its time has the same. */
export function extraId(schedule: string, time: number, word: string): string {
  return `${occurrenceId(schedule, time)}/${word}`;
}

/** The same for somebody who may ask again: the operation has a name, and its message the same id each time. */
export function namedExtraId(schedule: string, operation: string): string {
  return `${schedule}@${operation}`;
}

/** What the stored ids of all messages of a schedule have in common. */
export function seriesOf(schedule: string, key: string): OccurrenceSeries {
  return { prefix: toStoredId(`${schedule}@`), suffix: SEPARATOR + key };
}
