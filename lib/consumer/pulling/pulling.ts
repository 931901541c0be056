import type { SettleStatus } from '../../messages/settle-status.js';
import { type TopicRef, checkedTopicName } from '../../messages/topic.js';
import type { Duration } from '../../time/duration.js';
import { MIN_LEASE } from '../../checks/limits.js';
import { duration } from '../../checks/rules.js';
import { HandingOut } from './handing-out.js';
import { KnownReceivers } from './known-receivers.js';
import { PulledTopics, type PulledTopicsOptions, type ReceiveRequest, shutsDown } from './pulled-topics.js';
import { decodeReceipt } from './receipt.js';
import { Receipts } from './receipts.js';
import type { ExtendResult, ReceiptDesk, ReceivedMessage } from './received-message.js';
import { type ReceivedOutcome, checkedOutcome } from './received-outcome.js';

/** Rule for the lease of a received message. */
export const RECEIVED_LEASE = duration(MIN_LEASE);

export interface PullingOptions extends Omit<PulledTopicsOptions, 'known'> {
  /** Called when an unknown receiver begins to receive. */
  readonly onNewReceiver: () => void;
}

/** Receives, settles and extends messages on behalf of the receivers in this process. */
export class Pulling implements ReceiptDesk {
  readonly known: KnownReceivers;
  readonly #topics: PulledTopics;
  readonly #receipts: Receipts;
  readonly #handingOut: HandingOut;
  #isClosed = false;

  constructor(options: PullingOptions) {
    const { clock, broker } = options.context;
    this.known = new KnownReceivers({ clock, now: () => broker.now(), onNew: options.onNewReceiver });
    this.#topics = new PulledTopics({ ...options, known: this.known });
    this.#receipts = new Receipts({ ...options, consumerOf: (topic) => this.#topics.consumerOf(topic) });
    this.#handingOut = new HandingOut(options, this);
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError, ReceiverUnavailableError, and the reason of the signal if that aborts */
  async receive(topic: TopicRef, request: ReceiveRequest): Promise<ReceivedMessage[]> {
    request.signal.throwIfAborted();
    const received = await this.#topics.receive(topic, request);
    const messages = await this.#handingOut.give(received, request.signal, request.room);
    if (messages.length === 0) request.signal.throwIfAborted();
    const tokens = request.lease === 0 ? [] : messages.map(({ receipt }) => decodeReceipt(receipt).token);
    this.known.took(checkedTopicName(topic), request.consumer, tokens, request.lease);
    return messages;
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError, ReceiverUnavailableError */
  async settle(receipt: string, outcome: ReceivedOutcome): Promise<SettleStatus> {
    this.#assertOpen();
    const status = await this.#receipts.settle(receipt, checkedOutcome(outcome));
    this.known.lasts(decodeReceipt(receipt).token, 0);
    return status;
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError, ReceiverUnavailableError */
  async extend(receipt: string, lease: Duration): Promise<ExtendResult> {
    this.#assertOpen();
    const length = RECEIVED_LEASE('lease', lease);
    const result = await this.#receipts.extend(receipt, length);
    this.known.lasts(decodeReceipt(receipt).token, result === 'stale' ? 0 : length);
    return result;
  }

  /** Whether this process deals with a topic only because its messages are received. */
  has(topic: string): boolean {
    return this.#topics.has(topic);
  }

  /** Answers all waiting calls; no call can wait any more. Received messages can still be settled. */
  stop(): void {
    this.#topics.stop();
  }

  /** Ends settling. */
  close(): void {
    this.#isClosed = true;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw shutsDown();
  }
}
