import {
  MAX_BATCH,
  type MessageStore,
  type NewMessage,
  type Partition,
  type PublishResult,
} from '../broker/broker.interface.js';
import type { Clock } from '../common/clock.js';
import { serveWithin } from '../common/serve-within.js';
import { BrokerUnavailableError } from '../errors/broker-unavailable.error.js';

/** A call carries at most this much, in characters, so that no single one keeps Redis busy for long. */
const MAX_BATCH_LENGTH = 512 * 1024;

interface PendingPublish {
  readonly message: NewMessage;
  readonly resolve: (result: PublishResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface PublishLaneOptions {
  readonly store: Pick<MessageStore, 'publish'>;
  readonly clock: Clock;
  readonly partition: Partition;
  /** Milliseconds. */
  readonly timeout: number;
}

/** Takes the publishes to one partition; those of one turn of the event loop travel in one call. */
export class PublishLane {
  readonly #options: PublishLaneOptions;
  #pending: PendingPublish[] = [];

  constructor(options: PublishLaneOptions) {
    this.#options = options;
  }

  /** @throws BrokerUnavailableError where it could not be confirmed in time */
  publish(message: NewMessage): Promise<PublishResult> {
    return new Promise((resolve, reject) => {
      if (this.#pending.length === 0) setImmediate(() => this.#flush());
      this.#pending.push({ message, resolve, reject });
    });
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    let batch: PendingPublish[] = [];
    let length = 0;
    for (const publish of pending) {
      if (
        batch.length === MAX_BATCH ||
        (batch.length > 0 && length + publish.message.envelope.length > MAX_BATCH_LENGTH)
      ) {
        void this.#send(batch);
        batch = [];
        length = 0;
      }
      batch.push(publish);
      length += publish.message.envelope.length;
    }
    void this.#send(batch);
  }

  /** Never rejects: what goes wrong is told to the callers of {@link publish}. */
  async #send(batch: readonly PendingPublish[]): Promise<void> {
    const { store, clock, partition, timeout } = this.#options;
    const messages = batch.map(({ message }) => message);
    try {
      const results = await serveWithin(() => store.publish(partition, messages), {
        clock,
        timeout,
        timeoutError: (cause) => timeoutError(partition, timeout, cause),
      });
      batch.forEach(({ resolve }, i) => resolve(results[i] as PublishResult));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

function timeoutError({ topic }: Partition, timeout: number, cause: unknown): BrokerUnavailableError {
  const detail = cause instanceof Error ? `: ${cause.message}` : '';
  return new BrokerUnavailableError(
    `Publishing to topic '${topic}' was not confirmed within ${timeout} ms${detail}. Whether the message was stored is ` +
      `not known; publish it again under the same id to be sure.`,
    { cause },
  );
}
