import type { ListedDeadLetter } from '../broker/broker.interface.js';
import { describe } from '../checks/describe.js';
import { assertOneOf, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import { assertId } from '../messages/assert-id.js';
import { FAILURE_REASONS } from '../messages/failure.js';
import { fromStoredId } from '../messages/stored-id.js';
import type { DeadLetterFilter } from './dead-letter-options.interface.js';
import { fingerprintOf } from './fingerprint.js';

/** A filter that was checked. Times are epoch milliseconds. */
export type CheckedFilter = Omit<DeadLetterFilter, 'since' | 'until'> & {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

const PROPERTIES: readonly (keyof DeadLetterFilter)[] = ['reason', 'since', 'until', 'key', 'fingerprint'];

/** @throws InvalidArgumentError where it is no filter, or a part of it can never be met */
export function checkedFilter(filter: DeadLetterFilter): CheckedFilter {
  assertOptions('The filter of dead letters', filter, PROPERTIES);
  const { reason, since, until, key, fingerprint } = filter;
  if (reason !== undefined) assertOneOf('reason', reason, FAILURE_REASONS);
  if (key !== undefined) assertId('key', key);
  if (fingerprint !== undefined && !/^[0-9a-f]{16}$/.test(fingerprint)) {
    throw new InvalidArgumentError(
      `fingerprint must be that of a group of deadLetterGroups(), 16 hexadecimal digits. Given: ${describe(fingerprint)}.`,
    );
  }
  const times = { since: optionalTime('since', since), until: optionalTime('until', until) };
  if (times.since !== undefined && times.until !== undefined && times.since >= times.until) {
    throw new InvalidArgumentError(`since must be before until. Given: ${describe(since)} and ${describe(until)}.`);
  }
  return { ...filter, ...times };
}

/** Whether a failure has to be known to tell. */
export function asksForFailures({ reason, fingerprint }: CheckedFilter): boolean {
  return reason !== undefined || fingerprint !== undefined;
}

/** Whether a dead letter of the right time is meant. */
export function isMeant({ storedId, failure }: ListedDeadLetter, { reason, key, fingerprint }: CheckedFilter): boolean {
  if (key !== undefined && fromStoredId(storedId).key !== key) return false;
  if (reason !== undefined && failure?.reason !== reason) return false;
  return fingerprint === undefined || (failure !== undefined && fingerprintOf(failure) === fingerprint);
}

function optionalTime(name: string, value: Date | number | undefined): number | undefined {
  if (value === undefined) return undefined;
  const time = value instanceof Date ? value.getTime() : value;
  if (typeof time !== 'number' || !Number.isFinite(time) || time < 0) {
    throw new InvalidArgumentError(`${name} must be a valid Date or epoch milliseconds. Given: ${describe(value)}.`);
  }
  return Math.ceil(time);
}
