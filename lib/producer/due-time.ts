import { isDate, isPlainObject } from '../checks/kinds.js';
import { adviceOnDate } from '../time/date.js';
import type { DueTime } from '../store/messages/publish.js';
import { describe } from '../checks/describe.js';
import { parseDuration } from '../time/duration.js';
import { localToEpoch } from '../time/local-time.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { MAX_DELAY } from '../checks/limits.js';
import type { PublishOptions } from '../messages/publish-options.interface.js';

/** How callers say when a message is due. */
type DueOptions = Pick<PublishOptions, 'delay' | 'deliverAt'>;

const DUE_OPTIONS: readonly (keyof DueOptions)[] = ['delay', 'deliverAt'];

/**
 * Checks when a message is due. A time that has passed means at once, like no delay: the message neither comes before what has
 * waited, nor is it late already.
 *
 * @param now the broker's clock, epoch milliseconds
 * @returns `undefined` if neither `delay` nor `deliverAt` was given
 * @throws InvalidArgumentError if both were given, or one is out of bounds
 */
export function optionalDueTime({ delay, deliverAt }: DueOptions, now: number): DueTime | undefined {
  if (delay !== undefined && deliverAt !== undefined) {
    throw new InvalidArgumentError(
      `Give either delay or deliverAt, not both. Given: delay ${describe(delay)}, deliverAt ${describe(deliverAt)}.`,
    );
  }
  if (delay !== undefined) return { after: parseDuration('delay', delay, { max: MAX_DELAY }) };
  if (deliverAt === undefined) return undefined;
  const at = toEpoch(deliverAt);
  if (typeof at !== 'number' || !Number.isFinite(at)) {
    throw new InvalidArgumentError(
      `deliverAt must be a valid Date, epoch milliseconds, or { local, timeZone }. Given: ${describe(deliverAt)}.` +
        adviceOnDate(deliverAt),
    );
  }
  if (at > now + MAX_DELAY) {
    throw new InvalidArgumentError(`deliverAt must be within 10 years from now. Given: ${describe(deliverAt)}.`);
  }
  return at <= now ? { after: 0 } : { at: Math.ceil(at) };
}

/** Epoch milliseconds, if it is a valid time. */
function toEpoch(deliverAt: NonNullable<DueOptions['deliverAt']>): number {
  if (isDate(deliverAt)) return deliverAt.getTime();
  const isLocal = typeof deliverAt === 'object' && isPlainObject(deliverAt);
  return isLocal ? localToEpoch('deliverAt', deliverAt) : (deliverAt as number);
}

/**
 * Checks the time to which a message is moved.
 *
 * @param now the broker's clock, epoch milliseconds
 * @throws InvalidArgumentError if neither or both of `delay` and `deliverAt` are given, or one is out of bounds
 */
export function requiredDueTime(when: DueOptions, now: number): DueTime {
  assertOptions('The new due time ({ delay } or { deliverAt })', when, DUE_OPTIONS);
  const due = optionalDueTime(when, now);
  if (!due) throw new InvalidArgumentError(`Give either delay or deliverAt. Given: ${describe(when)}.`);
  return due;
}
