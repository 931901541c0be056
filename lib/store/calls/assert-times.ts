import { MAX_TIME } from '../../time/date.js';
import { describe } from '../../checks/describe.js';
import { isWithin } from '../../checks/validate.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { Settlement } from '../deliveries/settle.js';
import type { DueTime, NewMessage } from '../messages/publish.js';
import type { ScheduleWrite } from '../schedules/schedule-records.js';

/** @throws InvalidArgumentError if it is not a length of time, which a broker could not store */
export function assertLength(what: string, value: number): void {
  if (!isWithin(value, 0, MAX_TIME)) {
    throw new InvalidArgumentError(`${what} must be milliseconds from 0 to ${MAX_TIME}. Given: ${describe(value)}.`);
  }
}

/** @throws InvalidArgumentError if it is not a time */
export function assertDue(due: DueTime): void {
  assertLength('The due time', 'after' in due ? due.after : due.at);
}

/** @throws InvalidArgumentError if a due time is not a time, or a longest wait not a length of time: then nothing may be sent */
export function assertDues(messages: readonly NewMessage[]): void {
  for (const { due, maxWait } of messages) {
    assertDue(due);
    if (maxWait !== undefined) assertLength('The longest wait', maxWait);
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
