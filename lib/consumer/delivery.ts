import type { ClaimedMessage, Partition, Receipt } from '../broker/broker.interface.js';
import type { DelayQueueError } from '../errors/delay-queue.error.js';
import type { DeliveryEvent } from '../events/queue-events.interface.js';
import { fromStoredId } from '../messages/stored-id.js';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { CallSlot } from './call-slot.js';

/** What is waited for where no call is under way. */
export const NOTHING_RUNS = Promise.resolve();

/** One handing of a message to a handler, as long as this process has to do with it. */
export class Delivery implements Receipt {
  readonly partition: Partition;
  readonly storedId: string;
  readonly id: string;
  readonly key: string;
  readonly token: number;
  readonly attempt: number;
  readonly dueAt: number;
  readonly envelope: string;
  /** Until when the delivery surely belongs to this process; local clock, epoch milliseconds. */
  leaseEndsAt: number;
  /** As its handler gets it, once it is known that it may be handed over. */
  message: DelayedMessage | undefined;
  /** The slot of its call, which it shares with the other messages of a batch. */
  slot: CallSlot | undefined;
  /** Resolves when its call has ended; the same promise for all deliveries of a call. */
  finished = NOTHING_RUNS;
  /** When its handler was called, on the local clock in epoch milliseconds; `undefined` where it was not. */
  startedAt: number | undefined;
  /** Whether its outcome is decided; what the handler still does has no effect. */
  settled = false;
  #controller: AbortController | undefined;
  #abortReason: DelayQueueError | undefined;

  constructor(partition: Partition, claimed: Omit<ClaimedMessage, 'delivery'>, leaseEndsAt: number) {
    this.partition = partition;
    this.storedId = claimed.storedId;
    ({ id: this.id, key: this.key } = fromStoredId(claimed.storedId));
    this.token = claimed.token;
    this.attempt = claimed.attempt;
    this.dueAt = claimed.dueAt;
    this.envelope = claimed.envelope;
    this.leaseEndsAt = leaseEndsAt;
  }

  /** The same delivery, of a message that has another stored id by now. */
  renamed(storedId: string): Delivery {
    if (storedId === this.storedId) return this;
    const { partition, token, attempt, dueAt, envelope, leaseEndsAt } = this;
    return new Delivery(partition, { storedId, token, attempt, dueAt, envelope }, leaseEndsAt);
  }

  /** Made when it is first asked for: most handlers never do, and a signal costs more than all else of a delivery. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abortReason) this.#controller.abort(this.#abortReason);
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#abortReason !== undefined;
  }

  /** The first reason counts. */
  abort(reason: DelayQueueError): void {
    if (this.#abortReason) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  /** What events about this delivery have in common. */
  describe(): DeliveryEvent {
    const { id, key, attempt } = this;
    return { topic: this.partition.topic, partition: this.partition.index, id, key, attempt };
  }
}
