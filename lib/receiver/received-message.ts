import type { ExtendStatus, SettleStatus } from '../broker/broker.interface.js';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { Duration } from '../time/duration.js';

/**
 * What becomes of a message that was received: it is handled (`'ack'`), has failed and comes again (`'retry'`) or does not (`'dead'`),
 * or comes back at once as if nobody had received it (`'release'`).
 *
 * @publicApi
 */
export type ReceiptOutcome =
  | 'ack'
  | 'retry'
  | 'dead'
  | 'release'
  | { readonly outcome: 'ack' | 'release' }
  | {
      readonly outcome: 'retry';
      /** Why; kept in the history of the message. A `RetryLaterError` spends no attempt, and a `RateLimitedError` holds what it concerns. */
      readonly error?: unknown;
      /** Until it comes again. @defaultValue by the backoff of the message, else of its topic */
      readonly delay?: Duration | undefined;
    }
  | {
      readonly outcome: 'dead';
      /** Why; kept with the dead letter. */
      readonly reason?: unknown;
    };

/**
 * A message as its receiver has it, for the time of its lease. Each of its methods may be called by any process that has the
 * {@link receipt}, through `DelayQueueReceiver`. The first one that settles it counts; what comes later is `'stale'` and changes nothing.
 *
 * @publicApi
 */
export interface ReceivedMessage<T = unknown> extends DelayedMessage<T> {
  /** Proves that the message belongs to whoever settles it. Text without characters that need escaping. */
  readonly receipt: string;
  /** When its lease ends, on the clock of Redis; `undefined` if it is delivered at most once, and so has none. */
  readonly leaseEndsAt: Date | undefined;

  /**
   * It is handled.
   *
   * @throws BrokerUnavailableError if that was not confirmed within `publishTimeout`
   */
  ack(): Promise<SettleStatus>;

  /**
   * The attempt has failed: it comes again by its backoff, or after `delay`, or becomes a dead letter if this was the last attempt.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  retry(error?: unknown, delay?: Duration): Promise<SettleStatus>;

  /**
   * It becomes a dead letter at once.
   *
   * @throws BrokerUnavailableError
   */
  dead(reason: unknown): Promise<SettleStatus>;

  /**
   * It comes back at once, and spends no attempt.
   *
   * @throws BrokerUnavailableError
   */
  release(): Promise<SettleStatus>;

  /**
   * Its lease ends so long after now. If it is lost, or the message was cancelled, {@link signal} aborts.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  extend(lease: Duration): Promise<ExtendStatus>;
}
