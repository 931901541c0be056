import { isAbortSignal } from '../checks/kinds.js';
import { describe } from '../checks/describe.js';
import { MAX_DELAY } from '../checks/limits.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { type Duration, parseDuration } from '../time/duration.js';
import { type ActionOptions, assertActor } from './audit-log.js';

/**
 * How far a call that changes many messages has come.
 *
 * @publicApi
 */
export interface BulkProgress {
  /** Messages that were met so far. */
  readonly matched: number;
  /** How many of them were changed. */
  readonly changed: number;
}

/**
 * How `drain()` and `purge()` remove messages.
 *
 * @publicApi
 */
export interface ClearOptions extends ActionOptions {
  /** Counts what would be removed, and removes nothing. @defaultValue false */
  dryRun?: boolean;
  /** Ends the call after the step under way; what was removed by then stays removed. */
  signal?: AbortSignal | undefined;
  /** Called after each step. */
  onProgress?: ((progress: BulkProgress) => void) | undefined;
}

/**
 * What `drain()` and `purge()` have done.
 *
 * @publicApi
 */
export interface ClearCounts {
  /** How many messages there were when the turn of their partition came first. */
  readonly matched: number;
  /** How many were removed. Others may have come or gone meanwhile, so it need not be {@link matched}. */
  readonly removed: number;
}

/**
 * How dead letters are removed.
 *
 * @publicApi
 */
export interface RemoveOptions extends ActionOptions {
  /** Counts the dead letters that are meant, and changes nothing. @defaultValue false */
  readonly dryRun?: boolean;
  /** Most messages a second, above 0; less than one is possible. @defaultValue as fast as it goes */
  readonly rate?: number;
  /** Ends the call after the step under way. */
  readonly signal?: AbortSignal;
  /** Called after each step. */
  readonly onProgress?: (progress: BulkProgress) => void;
}

/**
 * How dead letters are requeued.
 *
 * @publicApi
 */
export interface RequeueOptions extends RemoveOptions {
  /** Time from the requeue until they are due, 0 to 10 years. @defaultValue 0 */
  readonly delay?: Duration;
  /** Replaces the payload, if a single message is named. Headers and options stay as they are. */
  readonly payload?: unknown;
}

/**
 * What became of a call for dead letters.
 *
 * @publicApi
 */
export interface DeadLetterCounts {
  /** Dead letters that were meant. */
  readonly matched: number;
  /** Whether the signal ended the call before all were looked at. */
  readonly aborted: boolean;
}

/**
 * What became of a call to requeue dead letters.
 *
 * @publicApi
 */
export interface RequeueResult extends DeadLetterCounts {
  /** Those that wait again; fewer than matched if others were quicker, and 0 in a dry run. */
  readonly requeued: number;
}

/**
 * What became of a call to remove dead letters.
 *
 * @publicApi
 */
export interface RemoveResult extends DeadLetterCounts {
  /** Those that are gone; fewer than matched if others were quicker, and 0 in a dry run. */
  readonly removed: number;
}

/** What all bulk operations can be told, checked. */
export interface CheckedBulkOptions {
  readonly dryRun: boolean;
  /** Messages a second; `undefined`: as fast as it goes. */
  readonly rate: number | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: BulkProgress) => void) | undefined;
}

const CLEAR_OPTIONS: readonly (keyof ClearOptions)[] = ['actor', 'dryRun', 'signal', 'onProgress'];
const REMOVE_OPTIONS: readonly (keyof RemoveOptions)[] = ['actor', 'dryRun', 'rate', 'signal', 'onProgress'];
const REQUEUE_OPTIONS: readonly (keyof RequeueOptions)[] = [...REMOVE_OPTIONS, 'delay', 'payload'];

/** @throws InvalidArgumentError also for an unknown option: a misspelt dry run would be none */
export function checkedClearOptions(options: ClearOptions): CheckedBulkOptions {
  assertOptions('The options of drain and purge', options, CLEAR_OPTIONS);
  return checkedBulkOptions(options);
}

/** @throws InvalidArgumentError */
export function checkedRemoveOptions(options: RemoveOptions): CheckedBulkOptions {
  assertOptions('The options of remove', options, REMOVE_OPTIONS);
  return checkedBulkOptions(options);
}

/**
 * @returns the delay in milliseconds
 * @throws InvalidArgumentError
 */
export function checkedRequeueOptions(options: RequeueOptions): CheckedBulkOptions & { readonly delay: number } {
  assertOptions('The options of requeue', options, REQUEUE_OPTIONS);
  return { ...checkedBulkOptions(options), delay: parseDuration('delay', options.delay ?? 0, { max: MAX_DELAY }) };
}

function checkedBulkOptions({
  actor,
  dryRun = false,
  rate,
  signal = new AbortController().signal,
  onProgress,
}: Pick<RemoveOptions, 'actor' | 'dryRun' | 'rate'> & Pick<ClearOptions, 'signal' | 'onProgress'>): CheckedBulkOptions {
  assertActor(actor);
  if (typeof dryRun !== 'boolean') {
    throw new InvalidArgumentError(`dryRun must be true or false. Given: ${describe(dryRun)}.`);
  }
  if (rate !== undefined && (typeof rate !== 'number' || !Number.isFinite(rate) || rate <= 0)) {
    throw new InvalidArgumentError(
      `rate must be a number of messages a second, greater than 0. Given: ${describe(rate)}.`,
    );
  }
  if (!isAbortSignal(signal)) {
    throw new InvalidArgumentError(`signal must be an AbortSignal. Given: ${describe(signal)}.`);
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new InvalidArgumentError(`onProgress must be a function. Given: ${describe(onProgress)}.`);
  }
  return { dryRun, rate, signal, onProgress };
}
