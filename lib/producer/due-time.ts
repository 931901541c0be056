import type { DueTime } from '../store/messages/publish.js';
import { describe } from '../checks/describe.js';
import { type Used, objectOf } from '../checks/rules.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { MAX_DELAY } from '../checks/limits.js';
import { PUBLISH_RULES } from '../messages/message-options.js';
import type { PublishOptions } from '../messages/publish-options.interface.js';

/** Options that set when a message is due. */
type DueOptions = Pick<PublishOptions, 'delay' | 'deliverAt'>;

const RULES = { delay: PUBLISH_RULES.delay, deliverAt: PUBLISH_RULES.deliverAt };

/** @throws InvalidArgumentError if one of them is not valid, or there are others */
export const checkedDueOptions = objectOf(RULES);

/**
 * Returns when a message is due. A past time means at once, like no delay: the message neither overtakes those that have waited, nor is it
 * late already.
 *
 * @param used same options, checked
 * @param now epoch milliseconds on the broker's clock
 * @returns `undefined` if neither `delay` nor `deliverAt` was given
 * @throws InvalidArgumentError if both were given, or it is more than 10 years ahead
 */
export function optionalDueTime(
  given: DueOptions,
  { delay, deliverAt }: Used<typeof RULES>,
  now: number,
): DueTime | undefined {
  if (delay !== undefined && deliverAt !== undefined) {
    throw new InvalidArgumentError(
      `Give either delay or deliverAt, not both. Given: delay ${describe(given.delay)}, deliverAt ${describe(given.deliverAt)}.`,
    );
  }
  if (delay !== undefined) return { after: delay };
  if (deliverAt === undefined) return undefined;
  if (deliverAt > now + MAX_DELAY) {
    throw new InvalidArgumentError(`deliverAt must be within 10 years from now. Given: ${describe(given.deliverAt)}.`);
  }
  return deliverAt <= now ? { after: 0 } : { at: Math.ceil(deliverAt) };
}

/**
 * Checks the new due time of a message.
 *
 * @param now epoch milliseconds on the broker's clock
 * @throws InvalidArgumentError if neither or both of `delay` and `deliverAt` are given, or one is out of bounds
 */
export function requiredDueTime(when: DueOptions, now: number): DueTime {
  const used = checkedDueOptions('The new due time ({ delay } or { deliverAt })', when, '');
  const due = optionalDueTime(when, used, now);
  if (!due) throw new InvalidArgumentError(`Give either delay or deliverAt. Given: ${describe(when)}.`);
  return due;
}
