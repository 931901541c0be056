import type { MessageStore } from '../broker/broker.interface.js';
import type { Clock } from '../common/clock.js';
import { DuplicateMessageError } from '../errors/duplicate-message.error.js';
import { PublishManyError } from '../errors/publish-many.error.js';
import type { EventSink } from '../events/queue-events.interface.js';
import { partitionOf } from '../message/partitioner.js';
import type { PublishedMessage } from '../message/publish-options.interface.js';
import { Lanes } from '../topics/lanes.js';
import { PublishLane } from './publish-lane.js';
import type { PublishRequest } from './publish-request.js';

export interface PublisherOptions {
  readonly store: Pick<MessageStore, 'publish'>;
  readonly clock: Clock;
  readonly events: EventSink;
  /** Names this process among the publishers. */
  readonly caller: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly onFailed: OnPublishFailed | undefined;
}

/** Told of messages that were not published, and why; it does not throw. */
export type OnPublishFailed = (topic: string, error: unknown, messages: number) => void;

/** Where messages go. */
export interface Destination {
  readonly topic: string;
  readonly partitions: number;
}

/** Sends messages that passed every check, and tells what became of them: one promise a call, however many messages it has. */
export class Publisher {
  readonly #events: EventSink;
  readonly #onFailed: OnPublishFailed | undefined;
  readonly #lanes: Lanes<PublishLane>;

  constructor({ store, clock, events, caller, timeout, onFailed }: PublisherOptions) {
    this.#events = events;
    this.#onFailed = onFailed;
    this.#lanes = new Lanes((partition) => new PublishLane({ store, clock, partition, timeout, caller }));
  }

  /** @throws DuplicateMessageError, BrokerUnavailableError */
  publish(destination: Destination, request: PublishRequest): Promise<PublishedMessage> {
    return new Promise((resolve, reject) => {
      this.#send(destination, request, (result) => {
        if (result.status === 'fulfilled') resolve(result.value);
        else reject(result.reason);
      });
    });
  }

  /**
   * @param requests one at least
   * @returns in the order of the requests
   * @throws PublishManyError where some failed
   */
  publishAll(destination: Destination, requests: readonly PublishRequest[]): Promise<PublishedMessage[]> {
    return new Promise((resolve, reject) => {
      const results: PromiseSettledResult<PublishedMessage>[] = [];
      let open = requests.length;
      requests.forEach((request, i) => {
        this.#send(destination, request, (result) => {
          results[i] = result;
          if (--open > 0) return;
          if (results.every(isFulfilled)) resolve(results.map(({ value }) => value));
          else reject(new PublishManyError(destination.topic, results));
        });
      });
    });
  }

  #send({ topic, partitions }: Destination, { id, key, message }: PublishRequest, onResult: OnPublished): void {
    const partition = partitionOf(key, partitions);
    this.#lanes.get(topic, partition).publish(message, (result) => {
      if (result.status === 'rejected') return this.#fail(topic, result.reason, onResult);
      const { status, dueAt } = result.value;
      if (status === 'rejected') return this.#fail(topic, new DuplicateMessageError(topic, id), onResult);
      const value = { id, topic, partition, dueAt: new Date(dueAt), duplicate: status !== 'created' };
      if (this.#events.wants('published')) this.#events.emit('published', value);
      onResult({ status: 'fulfilled', value });
    });
  }

  #fail(topic: string, reason: unknown, onResult: OnPublished): void {
    this.#onFailed?.(topic, reason, 1);
    onResult({ status: 'rejected', reason });
  }
}

type OnPublished = (result: PromiseSettledResult<PublishedMessage>) => void;

function isFulfilled<T>(result: PromiseSettledResult<T>): result is PromiseFulfilledResult<T> {
  return result.status === 'fulfilled';
}
