import { describe } from '../checks/describe.js';
import { parseDuration } from '../time/duration.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import { assertId } from '../messages/assert-id.js';
import { MAX_DELAY } from '../checks/limits.js';
import { type CheckedFilter, checkedFilter } from './checked-filter.js';
import type { DeadLetterFilter, RemoveOptions, RequeueOptions } from './dead-letter-options.interface.js';

/** Which dead letters are meant: one by its id, one by id and key, or all that a filter fits. */
export type DeadLetterSelection = string | { readonly id: string; readonly key: string } | DeadLetterFilter;

/** The same, checked. */
export type CheckedSelection = { readonly id: string; readonly key?: string } | { readonly filter: CheckedFilter };

export interface CheckedOptions {
  readonly dryRun: boolean;
  readonly rate: number | undefined;
  readonly signal: AbortSignal;
}

const REMOVE_OPTIONS: readonly (keyof RemoveOptions)[] = ['dryRun', 'rate', 'signal'];
const REQUEUE_OPTIONS: readonly (keyof RequeueOptions)[] = [...REMOVE_OPTIONS, 'delay', 'payload'];

/** @throws InvalidArgumentError; what is missing is an error too, and does not mean every dead letter */
export function checkedSelection(selection: DeadLetterSelection): CheckedSelection {
  if (typeof selection === 'string') {
    assertId('id', selection);
    return { id: selection };
  }
  if (typeof selection !== 'object' || selection === null || !('id' in selection)) {
    return { filter: checkedFilter(selection) };
  }
  assertOptions('A message', selection, ['id', 'key']);
  assertId('id', selection.id);
  assertId('key', selection.key);
  return { id: selection.id, key: selection.key };
}

/** @throws InvalidArgumentError */
export function checkedRemoveOptions(options: RemoveOptions): CheckedOptions {
  assertOptions('The options of remove', options, REMOVE_OPTIONS);
  return checkedCommon(options);
}

/**
 * @param selection what the options are for: a payload is for one message
 * @throws InvalidArgumentError
 */
export function checkedRequeueOptions(
  options: RequeueOptions,
  selection: CheckedSelection,
): CheckedOptions & { readonly delay: number } {
  assertOptions('The options of requeue', options, REQUEUE_OPTIONS);
  const { delay = 0, payload } = options;
  if (payload !== undefined && 'filter' in selection) {
    throw new InvalidArgumentError('payload is for a single dead letter. Name it by its id, or by { id, key }.');
  }
  return { ...checkedCommon(options), delay: parseDuration('delay', delay, { max: MAX_DELAY }) };
}

function checkedCommon({ dryRun = false, rate, signal = new AbortController().signal }: RemoveOptions): CheckedOptions {
  if (typeof dryRun !== 'boolean') {
    throw new InvalidArgumentError(`dryRun must be true or false. Given: ${describe(dryRun)}.`);
  }
  if (rate !== undefined && (typeof rate !== 'number' || !Number.isFinite(rate) || rate <= 0)) {
    throw new InvalidArgumentError(
      `rate must be a number of messages a second, greater than 0. Given: ${describe(rate)}.`,
    );
  }
  if (!(signal instanceof AbortSignal)) {
    throw new InvalidArgumentError(`signal must be an AbortSignal. Given: ${describe(signal)}.`);
  }
  return { dryRun, rate, signal };
}
