import type { ListedDeadLetter } from '../store/dead-letters/dead-letters.js';
import { describe } from '../checks/describe.js';
import { assertOneOf, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { assertId, assertMessageRef, type MessageRef } from '../messages/message-ref.js';
import { FAILURE_REASONS, type FailureReason } from '../messages/failure.js';
import { fromStoredId } from '../messages/stored-id.js';
import { optionalTime } from '../time/date.js';
import { fingerprintOf } from './fingerprint.js';
import { assertSaysWhich, assertText, failureHas } from './message-filter.js';

/**
 * Selects dead letters: those that match all given properties, at least one. `{ all: true }` selects every dead letter of the topic; an
 * empty filter does not.
 *
 * @publicApi
 */
export interface DeadLetterFilter {
  /** Why they died, such as `'failed'`, `'unrecoverable'`, `'crashed'` or `'expired'`. */
  readonly reason?: FailureReason;
  /** They died at this time or later, on the Redis server's clock; a number is epoch milliseconds. */
  readonly since?: Date | number;
  /** They died before this time. What dies during the call is never meant. */
  readonly until?: Date | number;
  /** Their key; the id, if they were published without one. */
  readonly key?: string;
  /** The group that they are in, see `DelayQueueAdmin.deadLetterGroups()`. */
  readonly fingerprint?: string;
  /** Text in the name, code or message of the error that they died of: 1 to 1,000 characters; case is ignored. */
  readonly text?: string;
  /** Every dead letter of the topic; can't be combined with other properties. An empty filter is refused. */
  readonly all?: true;
}

/** A filter that was checked. Times are epoch milliseconds. */
export type CheckedFilter = Omit<DeadLetterFilter, 'all' | 'since' | 'until' | 'text'> & {
  /** In lower case. */
  readonly text?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

/** Dead letters that a caller selects: one by its id, or all that match a filter. */
export type DeadLetterSelection = MessageRef | DeadLetterFilter;

export type CheckedSelection = { readonly ref: MessageRef } | { readonly filter: CheckedFilter };

const PROPERTIES: readonly (keyof DeadLetterFilter)[] = [
  'reason',
  'since',
  'until',
  'key',
  'fingerprint',
  'text',
  'all',
];

/** @throws InvalidArgumentError also if nothing is given: that does not mean every dead letter */
export function checkedSelection(selection: DeadLetterSelection): CheckedSelection {
  if (typeof selection === 'string') {
    assertId('id', selection);
    return { ref: selection };
  }
  if (typeof selection !== 'object' || selection === null || !('id' in selection)) {
    return { filter: checkedFilter(selection) };
  }
  assertOptions('A message', selection, ['id', 'key']);
  assertMessageRef(selection);
  return { ref: selection };
}

/** Whether the filter asks for something that only the failure of a dead letter shows. */
export function needsFailures({ reason, fingerprint, text }: CheckedFilter): boolean {
  return reason !== undefined || fingerprint !== undefined || text !== undefined;
}

/** Whether a dead letter whose time of death matches also matches the rest of the filter. */
export function isMeant(
  { storedId, failure }: ListedDeadLetter,
  { reason, key, fingerprint, text }: CheckedFilter,
): boolean {
  if (key !== undefined && fromStoredId(storedId).key !== key) return false;
  if (reason !== undefined && failure?.reason !== reason) return false;
  if (text !== undefined && !failureHas(failure, text)) return false;
  return fingerprint === undefined || (failure !== undefined && fingerprintOf(failure) === fingerprint);
}

/** @throws InvalidArgumentError if it is not a filter, or if nothing can ever match a part of it */
function checkedFilter(filter: DeadLetterFilter): CheckedFilter {
  assertOptions('The filter of dead letters', filter, PROPERTIES);
  const { all, ...rest } = filter;
  assertSaysWhich('dead letters', all, rest);
  const { reason, since, until, key, fingerprint, text } = rest;
  if (reason !== undefined) assertOneOf('reason', reason, FAILURE_REASONS);
  if (key !== undefined) assertId('key', key);
  if (text !== undefined) assertText('text', text);
  if (fingerprint !== undefined && !/^[0-9a-f]{16}$/.test(fingerprint)) {
    throw new InvalidArgumentError(
      `fingerprint must be that of a group of deadLetterGroups(), 16 hexadecimal digits. Given: ${describe(fingerprint)}.`,
    );
  }
  const times = { since: optionalTime('since', since), until: optionalTime('until', until) };
  if (times.since !== undefined && times.until !== undefined && times.since >= times.until) {
    throw new InvalidArgumentError(`since must be before until. Given: ${describe(since)} and ${describe(until)}.`);
  }
  return { ...rest, text: text?.toLowerCase(), ...times };
}
