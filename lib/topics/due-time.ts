import type { DueTime } from '../broker/broker.interface.js';
import { describe } from '../checks/describe.js';
import { parseDuration } from '../time/duration.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { MAX_DELAY } from '../checks/limits.js';
import type { PublishOptions } from '../messages/publish-options.interface.js';

/** When a message is to be due, as callers say it. */
type DueOptions = Pick<PublishOptions, 'delay' | 'deliverAt'>;

const DUE_OPTIONS: readonly (keyof DueOptions)[] = ['delay', 'deliverAt'];

/**
 * Checks when a message is to be due. A time in the past is one that has come.
 *
 * @param now the broker's clock, epoch milliseconds
 * @returns `undefined` where neither `delay` nor `deliverAt` was given
 * @throws InvalidArgumentError where both were, or one is out of bounds
 */
export function optionalDueTime({ delay, deliverAt }: DueOptions, now: number): DueTime | undefined {
  if (delay !== undefined && deliverAt !== undefined) {
    throw new InvalidArgumentError(
      `Give either delay or deliverAt, not both. Given: delay ${describe(delay)}, deliverAt ${describe(deliverAt)}.`,
    );
  }
  if (delay !== undefined) return { after: parseDuration('delay', delay, { max: MAX_DELAY }) };
  if (deliverAt === undefined) return undefined;
  const at = deliverAt instanceof Date ? deliverAt.getTime() : deliverAt;
  if (typeof at !== 'number' || !Number.isFinite(at)) {
    throw new InvalidArgumentError(
      `deliverAt must be a valid Date or epoch milliseconds. Given: ${describe(deliverAt)}.`,
    );
  }
  if (at > now + MAX_DELAY) {
    throw new InvalidArgumentError(`deliverAt must be within 10 years from now. Given: ${describe(deliverAt)}.`);
  }
  return { at: Math.max(0, Math.ceil(at)) };
}

/**
 * Checks the time that a message is to be moved to.
 *
 * @param now the broker's clock, epoch milliseconds
 * @throws InvalidArgumentError where it is not one of `delay` and `deliverAt`, or out of bounds
 */
export function requiredDueTime(when: DueOptions, now: number): DueTime {
  assertOptions('The new due time ({ delay } or { deliverAt })', when, DUE_OPTIONS);
  const due = optionalDueTime(when, now);
  if (!due) throw new InvalidArgumentError(`Give either delay or deliverAt. Given: ${describe(when)}.`);
  return due;
}
