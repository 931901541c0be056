import type { SettleStatus } from '../../messages/settle-status.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import type { Duration } from '../../time/duration.js';
import type { ReceivedOutcome } from './received-outcome.js';

/**
 * Result of extending a lease. `'cancelled'`: the lease was extended, but the message is cancelled; no retry follows. `'stale'`: the
 * delivery was no longer the current one, and nothing changed.
 *
 * @publicApi
 */
export type ExtendResult = 'extended' | 'cancelled' | 'stale';

/** Messages kept alive by their signals: without its message, nothing would abort a signal. */
const BY_SIGNAL = new WeakMap<AbortSignal, DelayedMessage>();

/** Uses receipts. */
export interface ReceiptDesk {
  settle(receipt: string, outcome: ReceivedOutcome): Promise<SettleStatus>;
  extend(receipt: string, lease: Duration): Promise<ExtendResult>;
}

/**
 * A message from `DelayQueueReceiver.receive()`. Settle it before its lease ends, or it is delivered again. Its `signal` aborts when its
 * lease ends or it is cancelled, as far as this process learns of that.
 *
 * @publicApi
 */
export class ReceivedMessage<T = unknown> implements DelayedMessage<T> {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly payload: T;
  readonly headers: Readonly<Record<string, string>>;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Lease that it was received with, in milliseconds; 0 if it was received at most once, so it needs no settling. */
  readonly lease: number;
  /** Text with which any process can settle the delivery or extend its lease; fit for URLs and headers. */
  readonly receipt: string;
  readonly #message: DelayedMessage<T>;
  readonly #desk: ReceiptDesk;

  /** @internal */
  constructor(message: DelayedMessage<T>, { receipt, lease }: { receipt: string; lease: number }, desk: ReceiptDesk) {
    this.id = message.id;
    this.topic = message.topic;
    this.partition = message.partition;
    this.key = message.key;
    this.payload = message.payload;
    this.headers = message.headers;
    this.attempt = message.attempt;
    this.maxAttempts = message.maxAttempts;
    this.receipt = receipt;
    this.lease = lease;
    this.#message = message;
    this.#desk = desk;
  }

  get publishedAt(): Date {
    return this.#message.publishedAt;
  }

  get dueAt(): Date {
    return this.#message.dueAt;
  }

  get signal(): AbortSignal {
    const { signal } = this.#message;
    BY_SIGNAL.set(signal, this.#message);
    return signal;
  }

  /** Acknowledges the message: the work is done. This and the next four methods throw as {@link DelayQueueReceiver.settle} does. */
  async ack(): Promise<SettleStatus> {
    return this.#desk.settle(this.receipt, 'ack');
  }

  /**
   * Reports the attempt as failed.
   *
   * @param error reason, as an error or a text; an `UnrecoverableError`, `RetryLaterError` or `RateLimitedError` means the same as in a
   * handler
   * @param delay time until the message comes again, 0 to 10 years; by default its backoff
   */
  async retry(error?: unknown, delay?: Duration): Promise<SettleStatus> {
    return this.#desk.settle(this.receipt, { outcome: 'retry', reason: error, delay });
  }

  /**
   * Makes the message a dead letter at once.
   *
   * @param reason an error or a text
   */
  async dead(reason?: unknown): Promise<SettleStatus> {
    return this.#desk.settle(this.receipt, { outcome: 'dead', reason });
  }

  /**
   * Gives the message back as if it had not been delivered.
   *
   * @param delay time until it comes again, 0 to 10 years; by default it comes at once
   */
  async release(delay?: Duration): Promise<SettleStatus> {
    return this.#desk.settle(this.receipt, { outcome: 'release', delay });
  }

  /**
   * Extends the lease.
   * @param lease new lease, from now on, 1 s to 10 years
   */
  async extend(lease: Duration): Promise<ExtendResult> {
    return this.#desk.extend(this.receipt, lease);
  }
}
