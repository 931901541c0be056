import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import { describe } from '../common/describe.js';
import { MAX_NAME_LENGTH } from './limits.js';

declare const payloadType: unique symbol;

/**
 * A topic whose payload type the compiler knows; made by {@link topic}.
 *
 * @publicApi
 */
export interface Topic<T> {
  readonly name: string;
  /** Carries the payload type; has no value. */
  readonly [payloadType]?: T;
}

/**
 * Names a topic: a plain string, or a typed {@link Topic}.
 *
 * @publicApi
 */
export type TopicRef<T = unknown> = string | Topic<T>;

/**
 * Makes a typed topic, so that a payload of the wrong shape does not compile.
 *
 * @throws InvalidArgumentError where the name is not 1 to 128 characters of `A-Z a-z 0-9 . _ : -`
 *
 * @example
 * ```ts
 * export const orderTimeout = topic<{ orderId: string }>('order.timeout');
 * await producer.publish(orderTimeout, { orderId: '42' }, { delay: '30m' });
 * ```
 *
 * @publicApi
 */
export function topic<T>(name: string): Topic<T> {
  assertName('topic', name);
  return Object.freeze({ name });
}

function topicName(ref: TopicRef): string {
  return typeof ref === 'object' && ref !== null ? ref.name : ref;
}

/** @throws InvalidArgumentError where the name is not 1 to 128 characters of `A-Z a-z 0-9 . _ : -` */
export function checkedTopicName(ref: TopicRef): string {
  const name = topicName(ref);
  assertName('topic', name);
  return name;
}

/**
 * Names become part of Redis keys, inside the hash tag; a brace would end the tag and tear a partition's keys apart.
 *
 * @throws InvalidArgumentError where the name is not 1 to 128 characters of `A-Z a-z 0-9 . _ : -`
 */
export function assertName(what: string, name: unknown): asserts name is string {
  if (typeof name !== 'string' || name.length > MAX_NAME_LENGTH || !/^[A-Za-z0-9._:-]+$/.test(name)) {
    throw new InvalidArgumentError(
      `A ${what} must be 1 to ${MAX_NAME_LENGTH} characters of A-Z a-z 0-9 . _ : - Given: ${describe(name)}.`,
    );
  }
}
