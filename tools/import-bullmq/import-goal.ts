import { randomBytes } from 'node:crypto';
import type { Broker } from '../../lib/store/broker.interface.js';
import type { StoredMessage } from '../../lib/store/messages/stored-message.js';
import type { Partition } from '../../lib/store/partition.js';
import { partitionCount } from '../../lib/store/partitions.js';
import { MAX_DELAY } from '../../lib/checks/limits.js';
import { partitionOf } from '../../lib/messages/partitioner.js';
import type { PublishOptions } from '../../lib/messages/publish-options.interface.js';
import { readablePart } from '../../lib/messages/envelope.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import type { DelayQueueProducer } from '../../lib/producer/delay-queue.producer.js';
import { MessageChanges } from '../../lib/producer/message-changes.js';
import { toPublishRequest } from '../../lib/producer/publish-request.js';
import type { Clock } from '../../lib/time/clock.js';
import type { JobMessage } from './job-message.js';

/** Header that identifies the taking of a message's job, the maker of the message, and the time for which it was stored. */
const IMPORT_HEADER = 'bullmq-import';

export interface GoalOptions {
  readonly broker: Pick<Broker, 'messages' | 'fleet' | 'now'>;
  readonly producer: Pick<DelayQueueProducer, 'publish'>;
  readonly clock: Clock;
  /** Longest time until a change is confirmed, in milliseconds. */
  readonly timeout: number;
}

/** Place where a message is, or was. */
export type MessagePlace = Pick<JobMessage, 'topic' | 'id'>;

/** Origin and maker of a message, by unique names. Those of all makers have the same length, and those of all takings. */
export interface Stamp {
  /** The taking of the job. */
  readonly taking: string;
  /** One round in which an import stores messages. */
  readonly maker: string;
}

/** Returns a unique name. */
export function freshName(): string {
  return randomBytes(9).toString('base64url');
}

/** A stamp, as long as any other. */
const ANY_STAMP: Stamp = { taking: `${freshName()}000`, maker: freshName() };

/** A message of a topic, as last seen. */
export interface FoundMessage extends Partial<Stamp> {
  readonly state: StoredMessage['state'];
  readonly envelope: string;
  /** Its due time if it waits, in epoch milliseconds. */
  readonly at: number;
  /** Whether an import has stored it and nothing has changed it since, so that nobody has handled it. */
  readonly isFarOff: boolean;
}

/**
 * Topics that jobs go to. It changes a message only if that is still as it was seen, because the names of messages can be
 * reused.
 */
export class ImportGoal {
  readonly #options: GoalOptions;
  readonly #partitions = new Map<string, number>();
  readonly #changes: MessageChanges;

  constructor(options: GoalOptions) {
    this.#options = options;
    const { broker: store, clock, timeout } = options;
    const caller = `import:${freshName()}`;
    this.#changes = new MessageChanges({ store, clock, caller, timeout, partitionsOf: async (t) => this.#count(t) });
  }

  /** Epoch milliseconds. */
  get now(): number {
    return this.#options.broker.now();
  }

  /** @throws InvalidArgumentError, SerializationError, PayloadTooLargeError if it cannot be a message */
  check(message: JobMessage): void {
    const { payload } = message;
    toPublishRequest({ payload }, farOff(message, ANY_STAMP, this.now), this.now, {
      publishTimeout: this.#options.timeout,
    });
  }

  /**
   * Stores a message due so late that nobody handles it, unless there is one with its id.
   *
   * @throws BrokerUnavailableError, ConfigurationError
   */
  async store(message: JobMessage, stamp: Stamp): Promise<void> {
    await this.#options.producer.publish(message.topic, message.payload, farOff(message, stamp, this.now));
  }

  async look({ topic, id }: MessagePlace): Promise<FoundMessage | undefined> {
    const { broker } = this.#options;
    const partition = await this.#partitionOf({ topic, id });
    const stored = partition && (await broker.messages.get(partition, toStoredId(id)));
    return stored && found(topic, stored);
  }

  /**
   * Returns the lives of the data in the partitions of messages; see `Broker.lifeOf`.
   *
   * @param names whether lives without a name get one
   */
  async livesOf(places: readonly MessagePlace[], names = true): Promise<(string | undefined)[]> {
    const asked = new Map<string, Promise<string | undefined>>();
    const fresh = names ? freshName() : undefined;
    return Promise.all(
      places.map(async (place) => {
        const partition = await this.#partitionOf(place);
        if (!partition) return undefined;
        const name = `${partition.topic} ${partition.index}`;
        const life = asked.get(name) ?? this.#options.broker.messages.lifeOf(partition, fresh);
        asked.set(name, life);
        return life;
      }),
    );
  }

  /**
   * Moves a message to its time.
   *
   * @returns `false` if it is no longer as it was stored
   */
  async moveTo({ topic, id }: MessagePlace, seen: FoundMessage, at: number): Promise<boolean> {
    if (!seen.isFarOff) return false;
    const { broker } = this.#options;
    const result = await this.#changes.change(topic, { id, key: id }, (partition, call, storedId) =>
      broker.messages.reschedule(partition, call, storedId, { at }, seen),
    );
    return result === 'moved';
  }

  /** Cancels a message if it is still as it was stored. */
  async withdraw({ topic, id }: MessagePlace, seen: FoundMessage): Promise<void> {
    if (!seen.isFarOff) return;
    const { broker } = this.#options;
    await this.#changes.change(topic, { id, key: id }, (partition, call, storedId) =>
      broker.messages.cancel(partition, call, storedId, seen),
    );
  }

  async #partitionOf({ topic, id }: MessagePlace): Promise<Partition | undefined> {
    const partitions = await this.#count(topic);
    return partitions === undefined ? undefined : { topic, index: partitionOf(id, partitions) };
  }

  /** Returns the number of partitions of a topic; `undefined` if it was never used. */
  async #count(topic: string): Promise<number | undefined> {
    const known = this.#partitions.get(topic);
    if (known !== undefined) return known;
    const count = await partitionCount(this.#options.broker, topic);
    if (count !== undefined) this.#partitions.set(topic, count);
    return count;
  }
}

function farOff({ id, options }: JobMessage, { taking, maker }: Stamp, now: number): PublishOptions {
  const deliverAt = Math.floor(now) + MAX_DELAY;
  const headers = { ...options.headers, [IMPORT_HEADER]: `${taking} ${maker} ${deliverAt}` };
  return { ...options, id, headers, deliverAt, onDuplicate: 'ignore' };
}

function found(topic: string, { state, envelope, at }: StoredMessage): FoundMessage {
  const stamp = readablePart(topic, undefined, envelope).headers[IMPORT_HEADER]?.split(' ') ?? [];
  const [taking, maker, storedFor] = stamp;
  const isFarOff = state === 'scheduled' && storedFor === String(at);
  return { state, envelope, at, isFarOff, ...(taking !== undefined && maker !== undefined && { taking, maker }) };
}
