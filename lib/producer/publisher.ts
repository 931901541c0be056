import type { Partition, PublishResult } from '../broker/broker.interface.js';
import { DuplicateMessageError } from '../errors/publishing.errors.js';
import type { EventSink } from '../events/queue-events.interface.js';
import { partitionOf } from '../messages/partitioner.js';
import { PublishManyError } from '../messages/publish-many.error.js';
import type { PublishedMessage } from '../messages/publish-options.interface.js';
import { Lanes } from '../topics/lanes.js';
import { PublishLane, type PublishLaneOptions } from './publish-lane.js';
import type { PublishRequest } from './publish-request.js';

export interface PublisherOptions extends Omit<PublishLaneOptions, 'partition'> {
  readonly events: EventSink;
  readonly onFailed?: OnPublishFailed | undefined;
}

/** Called for messages that were not published, with the reason; it does not throw. */
export type OnPublishFailed = (topic: string, error: unknown, messages: number) => void;

/** The topic that messages go to, and how many partitions it has. */
export interface Route {
  readonly topic: string;
  readonly partitions: number;
}

/** The part of a call that belongs to one partition. */
interface Part {
  readonly requests: PublishRequest[];
  /** The place of each request in the call. */
  readonly places: number[];
}

/** Sends messages that passed every check, with one promise for each call, however many messages it has. */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #lanes: Lanes<PublishLane>;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#lanes = new Lanes((partition) => new PublishLane({ ...options, partition }));
  }

  /** @throws DuplicateMessageError, BrokerUnavailableError */
  publish({ topic, partitions }: Route, request: PublishRequest): Promise<PublishedMessage> {
    const partition = partitionOf(request.key, partitions);
    return new Promise((resolve, reject) => {
      this.#lanes.get(topic, partition).publish([request], {
        answered: (_, result) => {
          if (result.status === 'rejected') reject(this.#refused(topic, request));
          else resolve(this.#published({ topic, index: partition }, request, result));
        },
        failed: (_, error) => reject(this.#failed(topic, error)),
      });
    });
  }

  /**
   * @param requests at least one
   * @returns in the order of the requests
   * @throws PublishManyError if some failed
   */
  publishAll({ topic, partitions }: Route, requests: readonly PublishRequest[]): Promise<PublishedMessage[]> {
    const parts = new Map<number, Part>();
    for (let place = 0; place < requests.length; place++) {
      const request = requests[place] as PublishRequest;
      const index = partitionOf(request.key, partitions);
      let part = parts.get(index);
      if (!part) parts.set(index, (part = { requests: [], places: [] }));
      part.requests.push(request);
      part.places.push(place);
    }
    return new Promise((resolve, reject) => {
      const outcome = new ManyOutcomes(topic, requests.length, resolve, reject);
      for (const [partition, { requests: messages, places }] of parts) {
        this.#lanes.get(topic, partition).publish(messages, {
          answered: (n, result) => {
            const request = messages[n] as PublishRequest;
            const place = places[n] as number;
            if (result.status === 'rejected') outcome.failed(place, this.#refused(topic, request));
            else outcome.published(place, this.#published({ topic, index: partition }, request, result));
          },
          failed: (n, error) => outcome.failed(places[n] as number, this.#failed(topic, error)),
        });
      }
    });
  }

  #published(
    { topic, index: partition }: Partition,
    { id }: PublishRequest,
    { status, dueAt }: PublishResult,
  ): PublishedMessage {
    const published = { id, topic, partition, dueAt: new Date(dueAt), duplicate: status !== 'created' };
    const { events } = this.#options;
    if (events.wants('published')) events.emit('published', published);
    return published;
  }

  #refused(topic: string, { id }: PublishRequest): unknown {
    return this.#failed(topic, new DuplicateMessageError(topic, id));
  }

  #failed(topic: string, error: unknown): unknown {
    this.#options.onFailed?.(topic, error, 1);
    return error;
  }
}

/** Gathers what becomes of messages that were published together, until it is known for all. */
class ManyOutcomes {
  readonly #topic: string;
  readonly #resolve: (published: PublishedMessage[]) => void;
  readonly #reject: (error: PublishManyError) => void;
  readonly #published: PublishedMessage[] = [];
  readonly #failures = new Map<number, unknown>();
  #open: number;

  constructor(
    topic: string,
    messages: number,
    resolve: (published: PublishedMessage[]) => void,
    reject: (error: PublishManyError) => void,
  ) {
    this.#topic = topic;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#published.length = messages;
    this.#open = messages;
  }

  published(place: number, message: PublishedMessage): void {
    this.#published[place] = message;
    this.#count();
  }

  failed(place: number, error: unknown): void {
    this.#failures.set(place, error);
    this.#count();
  }

  #count(): void {
    if (--this.#open > 0) return;
    if (this.#failures.size === 0) this.#resolve(this.#published);
    else this.#reject(new PublishManyError(this.#topic, this.#settled()));
  }

  #settled(): PromiseSettledResult<PublishedMessage>[] {
    return Array.from(this.#published, (value, place) =>
      this.#failures.has(place)
        ? { status: 'rejected', reason: this.#failures.get(place) }
        : { status: 'fulfilled', value },
    );
  }
}
