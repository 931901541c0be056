import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { DueTime, NewMessage } from '../store/messages/publish.js';
import type { CallId } from '../store/partition.js';
import { optionalDueTime } from './due-time.js';
import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { encodeEnvelope } from '../messages/envelope.js';
import { checkedOptions } from '../messages/message-options.js';
import { OPERATION, type Repeatable } from '../messages/operation.js';
import type { StoredPayload } from '../messages/serializer.js';
import type { PublishOptions } from '../messages/publish-options.interface.js';
import { type ReplicaRequirement, withinTimeout } from '../messages/replicas.js';
import { toStoredId, toUuidText, UUID_BYTES, type UuidText } from '../messages/stored-id.js';

/** Size of the pool of random bytes: drawing some costs more than the rest of a publish, and many cost hardly more than few. */
const POOL_SIZE = 1024 * UUID_BYTES;

/** Generates UUIDs of version 7, each greater than the one before. */
export class MessageIds {
  readonly #pool = new Uint8Array(POOL_SIZE);
  readonly #random = new Uint8Array(UUID_BYTES);
  readonly #bytes = new Uint8Array(UUID_BYTES);
  #used = POOL_SIZE;
  #msecs = -Infinity;
  #sequence = 0;

  next(): UuidText {
    const random = this.#drawRandom();
    const now = Date.now();
    if (now > this.#msecs) {
      this.#msecs = now;
      // A random start with the highest of its 32 bits clear leaves room to count within a millisecond (RFC 9562, 6.2).
      this.#sequence = (((random[0] ?? 0) & 0x7f) << 24) | ((random[1] ?? 0) << 16) | ((random[2] ?? 0) << 8);
    } else if ((this.#sequence = (this.#sequence + 1) | 0) === 0) {
      this.#msecs++;
    }
    uuidv7({ random, msecs: this.#msecs, seq: this.#sequence }, this.#bytes);
    return toUuidText(this.#bytes);
  }

  #drawRandom(): Uint8Array {
    if (this.#used === POOL_SIZE) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    // Copied, since a view of the pool would be one more object for each id.
    for (let i = 0; i < UUID_BYTES; i++) this.#random[i] = this.#pool[this.#used++] as number;
    return this.#random;
  }
}

/** A message that passed every check and is ready to be stored. */
export interface PublishRequest extends NewMessage {
  readonly id: string;
  readonly key: string;
  /** Replicas that have to confirm it; `undefined` if none. */
  readonly replicas: ReplicaRequirement | undefined;
  /** Name of the call that it is part of, or its caller and number; `undefined` if it travels with others. */
  readonly operation: string | CallId | undefined;
}

/** Options of a connection that apply to each publish. */
export interface PublishDefaults {
  /** Time limit until a publish is confirmed or rejected, in milliseconds. */
  readonly publishTimeout: number;
  /** Replicas that have to confirm a publish that does not set its own; `undefined` if none. */
  readonly replicas?: ReplicaRequirement | undefined;
}

const messageIds = new MessageIds();
const NO_OPTIONS: PublishOptions = Object.freeze({});
const NOTHING_USED: ReturnType<typeof checkedOptions> = checkedOptions('', {});
const PUBLISH_OPTIONS = 'The publish options';
const AT_ONCE: DueTime = Object.freeze({ after: 0 });

/**
 * Checks and encodes one message.
 *
 * @param now epoch milliseconds on the broker's clock
 * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError
 */
export function toPublishRequest(
  stored: StoredPayload,
  options: PublishOptions = NO_OPTIONS,
  now: number,
  defaults: PublishDefaults,
): PublishRequest {
  const used = options === NO_OPTIONS ? NOTHING_USED : checkedOptions(PUBLISH_OPTIONS, options, '');
  const { onDuplicate, maxWait, tags, replicas } = used;
  if (maxWait !== undefined && onDuplicate !== 'replace') {
    throw new InvalidArgumentError(
      `maxWait needs onDuplicate: 'replace': it limits for how long replacing can put a message off. ` +
        `Given: maxWait ${describe(options.maxWait)}, onDuplicate ${describe(options.onDuplicate)}.`,
    );
  }
  const { long: id, short } = used.id === undefined ? messageIds.next() : { long: used.id, short: undefined };
  const key = used.key ?? id;
  return {
    id,
    key,
    storedId: toStoredId(id, key, short),
    envelope: encodeEnvelope({ payload: stored.payload, serialized: stored.serialized, publishedAt: now }, used),
    due: optionalDueTime(options, used, now) ?? AT_ONCE,
    onDuplicate: used.id === undefined ? 'impossible' : onDuplicate,
    maxWait,
    tags,
    replicas: replicas ? withinTimeout('replicas', replicas, defaults.publishTimeout) : defaults.replicas,
    operation: (options as Repeatable)[OPERATION],
  };
}

/** @throws InvalidArgumentError if these are not options, or one of them is unknown or wrong */
export function assertPublishOptions(options: PublishOptions): void {
  checkedOptions(PUBLISH_OPTIONS, options, '');
}
