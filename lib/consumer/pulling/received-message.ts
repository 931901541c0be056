import type { SettleStatus } from '../../messages/settle-status.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import type { Duration } from '../../time/duration.js';
import type { ReceivedOutcome } from './received-outcome.js';

/**
 * What became of a lease that was to be extended. `'cancelled'`: it was, and the message is cancelled; no retry follows. `'stale'`: the
 * delivery was not the current one any more, and nothing changed.
 *
 * @publicApi
 */
export type ExtendResult = 'extended' | 'cancelled' | 'stale';

/** A signal that somebody has keeps its message, without which nobody would abort it. */
const BY_SIGNAL = new WeakMap<AbortSignal, DelayedMessage>();

/** Uses receipts. */
export interface ReceiptDesk {
  settle(receipt: string, outcome: ReceivedOutcome): Promise<SettleStatus>;
  extend(receipt: string, lease: Duration): Promise<ExtendResult>;
}

/**
 * A message that `DelayQueueReceiver.receive()` has given. Settle it before its lease ends, or it is delivered again. Its `signal` aborts when
 * its lease ends or it is cancelled, as far as this process hears of that.
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
  /** For how long it belonged to its receiver when it was given, in milliseconds; 0: at most once, so it need not be settled. */
  readonly lease: number;
  /** Settles the delivery, and extends its lease, in any process: a text for URLs and headers. */
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

  /** The work is done. Errors of this and the next four as of {@link DelayQueueReceiver.settle}. */
  async ack(): Promise<SettleStatus> {
    return this.#desk.settle(this.receipt, 'ack');
  }

  /**
   * The attempt has failed.
   *
   * @param error why, as an error or a text; an `UnrecoverableError`, `RetryLaterError` or `RateLimitedError` means what it means in a handler
   * @param delay until the message comes again, 0 to 10 years; by default its backoff
   */
  async retry(error?: unknown, delay?: Duration): Promise<SettleStatus> {
    return this.#desk.settle(this.receipt, { outcome: 'retry', reason: error, delay });
  }

  /**
   * Makes a dead letter of it at once.
   *
   * @param reason an error or a text
   */
  async dead(reason?: unknown): Promise<SettleStatus> {
    return this.#desk.settle(this.receipt, { outcome: 'dead', reason });
  }

  /**
   * Gives it back as if it had not been delivered.
   *
   * @param delay until it comes again, from 0 to 10 years; by default it comes at once
   */
  async release(delay?: Duration): Promise<SettleStatus> {
    return this.#desk.settle(this.receipt, { outcome: 'release', delay });
  }

  /** @param lease for how long it belongs to its receiver from now on, 1 s to 10 years */
  async extend(lease: Duration): Promise<ExtendResult> {
    return this.#desk.extend(this.receipt, lease);
  }
}
