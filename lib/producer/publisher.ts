import type { Broker, Partition, PublishResult } from '../broker/broker.interface.js';
import type { Clock } from '../time/clock.js';
import { DuplicateMessageError } from '../errors/duplicate-message.error.js';
import type { EventSink } from '../events/queue-events.interface.js';
import { partitionOf } from '../messages/partitioner.js';
import type { PublishedMessage } from '../messages/publish-options.interface.js';
import { Lanes } from '../topics/lanes.js';
import { PublishLane } from './publish-lane.js';
import { PublishOutcome } from './publish-outcome.js';
import type { PublishRequest } from './publish-request.js';

export interface PublisherOptions {
  readonly store: Pick<Broker, 'publish'>;
  readonly clock: Clock;
  readonly events: EventSink;
  /** Names this process among the publishers. */
  readonly caller: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly onFailed: OnPublishFailed | undefined;
  /** See {@link PublishLaneOptions.onSent}. */
  readonly onSent: ((topic: string) => void) | undefined;
}

/** Told of messages that were not published, and why; it does not throw. */
export type OnPublishFailed = (topic: string, error: unknown, messages: number) => void;

/** Where messages go. */
export interface Destination {
  readonly topic: string;
  readonly partitions: number;
}

/** What of a call belongs to one partition. */
interface Part {
  readonly requests: PublishRequest[];
  /** Where each stands in the call. */
  readonly places: number[];
}

/** Sends messages that passed every check, and tells what became of them: one promise a call, however many messages it has. */
export class Publisher {
  readonly #events: EventSink;
  readonly #onFailed: OnPublishFailed | undefined;
  readonly #lanes: Lanes<PublishLane>;

  constructor({ store, clock, events, caller, timeout, onFailed, onSent }: PublisherOptions) {
    this.#events = events;
    this.#onFailed = onFailed;
    this.#lanes = new Lanes((partition) => new PublishLane({ store, clock, partition, timeout, caller, onSent }));
  }

  /** @throws DuplicateMessageError, BrokerUnavailableError */
  publish({ topic, partitions }: Destination, request: PublishRequest): Promise<PublishedMessage> {
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
   * @param requests one at least
   * @returns in the order of the requests
   * @throws PublishManyError where some failed
   */
  publishAll({ topic, partitions }: Destination, requests: readonly PublishRequest[]): Promise<PublishedMessage[]> {
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
      const outcome = new PublishOutcome(topic, requests.length, resolve, reject);
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
    if (this.#events.wants('published')) this.#events.emit('published', published);
    return published;
  }

  #refused(topic: string, { id }: PublishRequest): unknown {
    return this.#failed(topic, new DuplicateMessageError(topic, id));
  }

  #failed(topic: string, error: unknown): unknown {
    this.#onFailed?.(topic, error, 1);
    return error;
  }
}
