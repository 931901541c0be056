import { MAX_TIME } from '../../time/date.js';
import { describe } from '../../checks/describe.js';
import { isWithin } from '../../checks/validate.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { Settlement } from '../deliveries/settle.js';
import type { ScheduleWrite } from '../schedules/schedule-records.js';

/** @throws InvalidArgumentError if it is not a length of time, which a broker could not store */
export function assertLength(what: string, value: number): void {
  if (!isWithin(value, 0, MAX_TIME)) {
    throw new InvalidArgumentError(`${what} must be milliseconds from 0 to ${MAX_TIME}. Given: ${describe(value)}.`);
  }
}

/** @throws InvalidArgumentError if the next occurrence of a schedule is not a time: then nothing may be sent */
export function assertNext({ nextAt }: Pick<ScheduleWrite, 'nextAt'>): void {
  if (nextAt !== undefined) assertLength('The next occurrence', nextAt);
}

/** @throws InvalidArgumentError if the delay of an outcome is not a length of time: then nothing may be sent */
export function assertDelays(settlements: readonly Settlement[]): void {
  for (const { outcome } of settlements) if ('delay' in outcome) assertLength('The delay of an outcome', outcome.delay);
}
