import { MAX_TIME } from '../time/date.js';
import { describe } from '../checks/describe.js';
import { isWithin } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { DueTime, NewMessage, Settlement } from './broker.interface.js';

/** @throws InvalidArgumentError where it is no length of time; a broker has no place for it */
export function assertLength(what: string, value: number): void {
  if (!isWithin(value, 0, MAX_TIME)) {
    throw new InvalidArgumentError(`${what} must be milliseconds from 0 to ${MAX_TIME}. Given: ${describe(value)}.`);
  }
}

/** @throws InvalidArgumentError where it is no time */
export function assertDue(due: DueTime): void {
  assertLength('The due time', 'after' in due ? due.after : due.at);
}

/** @throws InvalidArgumentError where one of them has a due time that is none: then nothing may be sent */
export function assertDues(messages: readonly NewMessage[]): void {
  for (const { due } of messages) assertDue(due);
}

/** @throws InvalidArgumentError where the delay of an outcome is none: then nothing may be sent */
export function assertDelays(settlements: readonly Settlement[]): void {
  for (const { outcome } of settlements) if ('delay' in outcome) assertLength('The delay of an outcome', outcome.delay);
}
