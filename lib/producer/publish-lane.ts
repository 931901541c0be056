import {
  MAX_BATCH,
  type CallId,
  type MessageStore,
  type NewMessage,
  type Partition,
  type PublishResult,
} from '../broker/broker.interface.js';
import type { Clock, Timer } from '../common/clock.js';
import { repeatUntilServed } from '../common/repeat.js';
import { BrokerUnavailableError } from '../errors/broker-unavailable.error.js';

/** A call carries at most this much, in characters, so that no single one keeps Redis busy for long. */
const MAX_BATCH_LENGTH = 512 * 1024;

interface PendingPublish {
  readonly message: NewMessage;
  /** Local clock, epoch milliseconds. */
  readonly deadline: number;
  readonly resolve: (result: PublishResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface PublishLaneOptions {
  readonly store: Pick<MessageStore, 'publish'>;
  readonly clock: Clock;
  /** Names this process among the publishers. */
  readonly caller: string;
  readonly partition: Partition;
  /** Milliseconds. */
  readonly timeout: number;
}

/**
 * Takes the publishes to one partition. One call is under way at a time; what comes up in the same turn of the event loop,
 * or during the call before, travels together.
 */
export class PublishLane {
  readonly #options: PublishLaneOptions;
  readonly #queue: PendingPublish[] = [];
  #sequence = 0;
  #sending = false;
  /** The call under way; aborted once nobody waits for it any more. */
  #batch: { readonly publishes: readonly PendingPublish[]; readonly abandon: AbortController } | undefined;
  #lastFailure: BrokerUnavailableError | undefined;
  #timer: Timer | undefined;

  constructor(options: PublishLaneOptions) {
    this.#options = options;
  }

  /** @throws BrokerUnavailableError where it could not be confirmed in time */
  publish(message: NewMessage): Promise<PublishResult> {
    return new Promise((resolve, reject) => {
      const { clock, timeout } = this.#options;
      this.#queue.push({ message, deadline: clock.now() + timeout, resolve, reject });
      this.#timer ??= clock.setTimer(timeout, () => this.#expire());
      if (this.#sending) return;
      this.#sending = true;
      setImmediate(() => void this.#sendAll());
    });
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) await this.#send(this.#nextBatch());
    this.#sending = false;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #nextBatch(): PendingPublish[] {
    let count = 0;
    let length = 0;
    for (const { message } of this.#queue) {
      length += message.envelope.length;
      if (count === MAX_BATCH || (count > 0 && length > MAX_BATCH_LENGTH)) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  /** Never rejects: what goes wrong is told to the callers of {@link publish}. */
  async #send(publishes: readonly PendingPublish[]): Promise<void> {
    const { store, clock, caller, partition } = this.#options;
    const abandon = new AbortController();
    this.#batch = { publishes, abandon };
    const call: CallId = { caller, sequence: ++this.#sequence };
    const messages = publishes.map(({ message }) => message);
    try {
      const results = await repeatUntilServed(() => store.publish(partition, call, messages), {
        clock,
        signal: abandon.signal,
        onFailure: (error) => (this.#lastFailure = error),
      });
      publishes.forEach(({ resolve }, i) => resolve(results[i] as PublishResult));
    } catch (error) {
      for (const { reject } of publishes) reject(error);
    }
    this.#batch = undefined;
    this.#lastFailure = undefined;
  }

  /** Rejects what has waited too long; what was not sent yet never will be. */
  #expire(): void {
    const { clock } = this.#options;
    const now = clock.now();
    const isOver = ({ deadline }: PendingPublish): boolean => deadline <= now;
    const sent = this.#batch?.publishes ?? [];
    const overdue = [...sent.filter(isOver), ...this.#queue.splice(0, countWhile(this.#queue, isOver))];
    for (const { reject } of overdue) reject(this.#timeoutError());
    const next = [...sent, ...this.#queue].find((publish) => !isOver(publish));
    if (!sent.some((publish) => !isOver(publish))) this.#batch?.abandon.abort();
    this.#timer = next && clock.setTimer(next.deadline - now, () => this.#expire());
  }

  #timeoutError(): BrokerUnavailableError {
    const { partition, timeout } = this.#options;
    const detail = this.#lastFailure ? `: ${this.#lastFailure.message}` : '';
    return new BrokerUnavailableError(
      `Publishing to topic '${partition.topic}' was not confirmed within ${timeout} ms${detail}. Whether the message was ` +
        `stored is not known; publish it again under the same id to be sure.`,
      { cause: this.#lastFailure },
    );
  }
}

function countWhile<T>(items: readonly T[], predicate: (item: T) => boolean): number {
  const end = items.findIndex((item) => !predicate(item));
  return end === -1 ? items.length : end;
}
