import { describe } from '../checks/describe.js';
import { firstLine } from '../log.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { toFailure } from './failure.js';

/**
 * Converts payloads to a form that JSON can hold, and back, so that handlers get a `Date`, a `Map` or a `BigInt` as it was published.
 * [superjson](https://github.com/flightcontrolhq/superjson) works as it is.
 *
 * @example
 * ```ts
 * DelayQueueModule.forRoot({ serializer: superjson })
 * ```
 *
 * @publicApi
 */
export interface PayloadSerializer {
  /** Returns the value to store for a payload. It goes through `JSON.stringify()`, so it has to be plain data and not a promise. */
  serialize(value: unknown): unknown;
  /** Returns the payload from the value that `JSON.parse()` makes of the stored text. */
  deserialize(json: unknown): unknown;
}

/** A payload as stored in an envelope. */
export interface StoredPayload {
  readonly payload: unknown;
  /** Whether a serializer made it. */
  readonly serialized?: true | undefined;
}

/** @throws InvalidArgumentError if it is not a serializer */
export function assertSerializer(name: string, serializer: PayloadSerializer): void {
  // superjson is a class with static functions.
  const given = serializer as Partial<PayloadSerializer> | null | undefined;
  if (typeof given?.serialize === 'function' && typeof given.deserialize === 'function') return;
  throw new InvalidArgumentError(
    `${name} must have the functions serialize(value) and deserialize(json), as superjson has. ` +
      `Given: ${describe(serializer)}.`,
  );
}

/** @throws SerializationError if the serializer throws */
export function toStored(topic: string, serializer: PayloadSerializer | undefined, payload: unknown): StoredPayload {
  if (serializer === undefined) return { payload };
  try {
    return { payload: serializer.serialize(payload), serialized: true };
  } catch (error) {
    throw new SerializationError(`The serializer of topic '${topic}' failed on the payload: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Returns the payload that a handler gets. One that was published without a serializer stays unchanged.
 *
 * @throws SerializationError if the serializer throws, or is missing
 */
export function fromStored(
  topic: string,
  serializer: PayloadSerializer | undefined,
  { payload, serialized }: StoredPayload,
): unknown {
  if (!serialized) return payload;
  if (serializer === undefined) throw new SerializationError(withoutSerializer(topic));
  try {
    return serializer.deserialize(payload);
  } catch (error) {
    throw new SerializationError(
      `The serializer of topic '${topic}' failed on the stored payload: ${reasonOf(error)}`,
      { cause: error },
    );
  }
}

export function withoutSerializer(topic: string): string {
  return (
    `The payload was published with a serializer, and this process has none for topic '${topic}'. Give it the same ` +
    `option 'serializer' as the process that publishes.`
  );
}

/** Returns the message of an error in one line. */
export function reasonOf(error: unknown): string {
  return firstLine(toFailure('failed', error).message);
}
