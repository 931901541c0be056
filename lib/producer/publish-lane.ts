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

/** Told what became of a message, once. */
type OnResult = (result: PromiseSettledResult<PublishResult>) => void;

interface PendingPublish {
  readonly message: NewMessage;
  /** Local clock, epoch milliseconds. */
  readonly deadline: number;
  /** Undefined once it was told. */
  onResult: OnResult | undefined;
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
  /** In the call under way. */
  #sent: readonly PendingPublish[] = [];
  /** Ends the call under way, once nobody waits for it any more. */
  #abandon = new AbortController();
  #lastFailure: BrokerUnavailableError | undefined;
  #timer: Timer | undefined;

  constructor(options: PublishLaneOptions) {
    this.#options = options;
  }

  /** A message fails with a `BrokerUnavailableError` where it could not be confirmed in time. */
  publish(message: NewMessage, onResult: OnResult): void {
    const { clock, timeout } = this.#options;
    this.#queue.push({ message, deadline: clock.now() + timeout, onResult });
    this.#timer ??= clock.setTimer(timeout, () => this.#expire());
    if (this.#sending) return;
    this.#sending = true;
    setImmediate(() => void this.#sendAll());
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

  /** Never rejects: what goes wrong is told for each message. */
  async #send(publishes: readonly PendingPublish[]): Promise<void> {
    const { store, clock, caller, partition } = this.#options;
    this.#sent = publishes;
    if (this.#abandon.signal.aborted) this.#abandon = new AbortController();
    const call: CallId = { caller, sequence: ++this.#sequence };
    const messages = publishes.map(({ message }) => message);
    try {
      const results = await repeatUntilServed(() => store.publish(partition, call, messages), {
        clock,
        signal: this.#abandon.signal,
        onFailure: (error) => (this.#lastFailure = error),
      });
      publishes.forEach((publish, i) => tell(publish, { status: 'fulfilled', value: results[i] as PublishResult }));
    } catch (error) {
      for (const publish of publishes) tell(publish, { status: 'rejected', reason: error });
    }
    this.#sent = [];
    this.#lastFailure = undefined;
  }

  /** Fails what has waited too long; what was not sent yet never will be. */
  #expire(): void {
    const { clock } = this.#options;
    const now = clock.now();
    const isOver = ({ deadline }: PendingPublish): boolean => deadline <= now;
    const sent = this.#sent;
    const overdue = [...sent.filter(isOver), ...this.#queue.splice(0, countWhile(this.#queue, isOver))];
    for (const publish of overdue) tell(publish, { status: 'rejected', reason: this.#timeoutError() });
    const next = [...sent, ...this.#queue].find((publish) => !isOver(publish));
    if (!sent.some((publish) => !isOver(publish))) this.#abandon.abort();
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

function tell(publish: PendingPublish, result: PromiseSettledResult<PublishResult>): void {
  publish.onResult?.(result);
  publish.onResult = undefined;
}

function countWhile<T>(items: readonly T[], predicate: (item: T) => boolean): number {
  const end = items.findIndex((item) => !predicate(item));
  return end === -1 ? items.length : end;
}
