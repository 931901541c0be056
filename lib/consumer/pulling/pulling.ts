import type { SettleStatus } from '../../messages/settle-status.js';
import type { TopicRef } from '../../messages/topic.js';
import type { Duration } from '../../time/duration.js';
import { MIN_LEASE } from '../../checks/limits.js';
import { duration } from '../../checks/rules.js';
import { HandingOut } from './handing-out.js';
import { PulledTopics, type PulledTopicsOptions, type ReceiveRequest, shutsDown } from './pulled-topics.js';
import { Receipts } from './receipts.js';
import type { ExtendResult, ReceiptDesk, ReceivedMessage } from './received-message.js';
import { type ReceivedOutcome, checkedOutcome } from './received-outcome.js';

/** For how long a message may belong to its receiver. */
export const RECEIVED_LEASE = duration(MIN_LEASE);

/** All that this process does about messages that somebody receives. */
export class Pulling implements ReceiptDesk {
  readonly #topics: PulledTopics;
  readonly #receipts: Receipts;
  readonly #handingOut: HandingOut;
  #isClosed = false;

  constructor(options: PulledTopicsOptions) {
    this.#topics = new PulledTopics(options);
    this.#receipts = new Receipts({ ...options, consumerOf: (topic) => this.#topics.consumerOf(topic) });
    this.#handingOut = new HandingOut(options, this);
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError, ReceiverUnavailableError, and the reason of the signal if that aborts */
  async receive(topic: TopicRef, request: ReceiveRequest): Promise<ReceivedMessage[]> {
    request.signal.throwIfAborted();
    const received = await this.#topics.receive(topic, request);
    const messages = await this.#handingOut.give(received, request.signal, request.room);
    if (messages.length === 0) request.signal.throwIfAborted();
    return messages;
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError, ReceiverUnavailableError */
  async settle(receipt: string, outcome: ReceivedOutcome): Promise<SettleStatus> {
    this.#assertOpen();
    return this.#receipts.settle(receipt, checkedOutcome(outcome));
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError, ReceiverUnavailableError */
  async extend(receipt: string, lease: Duration): Promise<ExtendResult> {
    this.#assertOpen();
    return this.#receipts.extend(receipt, RECEIVED_LEASE('lease', lease));
  }

  /** Whether this process has to do with a topic only because it is received. */
  has(topic: string): boolean {
    return this.#topics.has(topic);
  }

  /** Answers everybody who waits; nobody can wait any more. What was received can still be settled. */
  stop(): void {
    this.#topics.stop();
  }

  /** Nothing can be settled any more. */
  close(): void {
    this.#isClosed = true;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw shutsDown();
  }
}
