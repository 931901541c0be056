import { describe } from '../checks/describe.js';
import { type Rules, abortSignal, applyRules, asGiven, duration, orElse, trueOrFalse } from '../checks/rules.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { Duration } from '../time/duration.js';
import { type ActionOptions, checkedActor } from '../events/audit-log.js';
import type { MessageDetails } from './message-details.js';

/**
 * Progress so far of a call that changes many messages.
 *
 * @publicApi
 */
export interface BulkProgress {
  /** Messages that matched. `drain()` and `purge()` count those present when the turn of their partition first comes. */
  readonly matched: number;
  /** Messages that were changed: fewer if someone else was faster, and 0 in a dry run. */
  readonly changed: number;
}

/**
 * Options of a call that changes all messages that match a filter.
 *
 * @publicApi
 */
export interface BulkOptions extends ActionOptions {
  /** Counts the matching messages, with up to three as examples, and changes nothing. @defaultValue false */
  readonly dryRun?: boolean | undefined;
  /** Most messages per second, above 0; can be less than one. @defaultValue as fast as possible */
  readonly rate?: number | undefined;
  /** Ends the call after the current step; changes made so far stay. @defaultValue none */
  readonly signal?: AbortSignal | undefined;
  /** Called after each step, with how many messages were `matched` and `changed` so far. @defaultValue none */
  readonly onProgress?: ((progress: BulkProgress) => void) | undefined;
}

/**
 * Options of `drain()` and `purge()`.
 *
 * @publicApi
 */
export type ClearOptions = Omit<BulkOptions, 'rate'>;

/**
 * Options of `requeue()`.
 *
 * @publicApi
 */
export interface RequeueOptions extends BulkOptions {
  /** How long after the requeue the messages are due, 0 to 10 years. @defaultValue 0 */
  readonly delay?: Duration;
  /**
   * Replaces the payload of a single message; checked by the schema of the topic if you pass the topic with its schema. Headers and options
   * stay as they are.
   *
   * @defaultValue its own
   */
  readonly payload?: unknown;
}

/**
 * Options of `cancel()` with a filter.
 *
 * @publicApi
 */
export interface CancelManyOptions extends BulkOptions {
  /** Also cancels messages in flight: their signals abort, and they are not retried. @defaultValue false */
  readonly inFlight?: boolean | undefined;
}

/**
 * Result of a call that changes many messages.
 *
 * @publicApi
 */
export interface BulkResult extends BulkProgress {
  /** Whether the signal ended the call before it had read all messages. */
  readonly aborted: boolean;
  /** In a dry run: up to three of the messages. */
  readonly examples: readonly MessageDetails[] | undefined;
}

/**
 * Result of `cancel()` with a filter.
 *
 * @publicApi
 */
export interface CancelManyResult extends BulkResult {
  /**
   * Changed messages that were being handled, even if they still waited when they were read: their signals abort, and they are not retried.
   * The others are gone.
   */
  readonly inFlight: number;
}

/** Checked options that all bulk operations share. */
export interface CheckedBulkOptions {
  readonly dryRun: boolean;
  /** Messages per second; `undefined`: as fast as possible. */
  readonly rate: number | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: BulkProgress) => void) | undefined;
}

const CLEAR_RULES = {
  actor: checkedActor,
  dryRun: orElse(trueOrFalse, false),
  signal: abortSignal,
  onProgress: orElse(checkedCallback, undefined),
} satisfies Rules<ClearOptions>;

const BULK_RULES = { ...CLEAR_RULES, rate: orElse(checkedRate, undefined) } satisfies Rules<BulkOptions>;

const CANCEL_RULES = { ...BULK_RULES, inFlight: orElse(trueOrFalse, false) } satisfies Rules<CancelManyOptions>;

const REQUEUE_RULES = {
  ...BULK_RULES,
  delay: orElse(duration(0), 0),
  payload: asGiven,
} satisfies Rules<RequeueOptions>;

/** @throws InvalidArgumentError also for an unknown option: a misspelt `dryRun` would make changes */
export function checkedClearOptions(options: ClearOptions): CheckedBulkOptions {
  return { ...applyRules(CLEAR_RULES, 'The options of drain and purge', options, ''), rate: undefined };
}

/**
 * @param method name of the method that received them
 * @throws InvalidArgumentError
 */
export function checkedOptionsOf(method: 'remove' | 'reschedule' | 'runNow', options: BulkOptions): CheckedBulkOptions {
  return applyRules(BULK_RULES, `The options of ${method}`, options, '');
}

/** @throws InvalidArgumentError */
export function checkedCancelOptions(options: CancelManyOptions): CheckedBulkOptions & { readonly inFlight: boolean } {
  return applyRules(CANCEL_RULES, 'The options of cancel', options, '');
}

/**
 * @returns the delay in milliseconds
 * @throws InvalidArgumentError
 */
export function checkedRequeueOptions(options: RequeueOptions): CheckedBulkOptions & { readonly delay: number } {
  return applyRules(REQUEUE_RULES, 'The options of requeue', options, '');
}

function checkedRate(name: string, rate: unknown): number {
  if (typeof rate === 'number' && Number.isFinite(rate) && rate > 0) return rate;
  throw new InvalidArgumentError(
    `${name} must be a number of messages a second, greater than 0. Given: ${describe(rate)}.`,
  );
}

function checkedCallback(name: string, callback: NonNullable<ClearOptions['onProgress']>): typeof callback {
  if (typeof callback === 'function') return callback;
  throw new InvalidArgumentError(`${name} must be a function. Given: ${describe(callback)}.`);
}
