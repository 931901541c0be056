import type { ClaimedMessage } from '../../store/deliveries/claim.js';
import type { Receipt } from '../../store/deliveries/receipt.js';
import type { Partition } from '../../store/partition.js';
import type { DelayQueueError } from '../../errors/delay-queue.error.js';
import type { DeliveryEvent } from '../../events/queue-events.interface.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import type { Envelope } from '../../messages/envelope.js';
import { fromStoredId } from '../../messages/stored-id.js';
import type { ActiveBackoff } from '../../fleet/topic-settings.interface.js';
import type { Admission } from '../admission/admission.js';
import type { BeginTimes } from '../admission/begin-estimate.js';
import type { Admitted, Permits } from '../admission/permits.js';

/** One delivery of a message to its destination, for as long as it concerns this process. */
export class Delivery implements Receipt, Admitted {
  readonly partition: Partition;
  readonly storedId: string;
  readonly id: string;
  readonly key: string;
  readonly token: string;
  /** Number of this delivery of the message, 1 for the first. */
  readonly number: number;
  readonly attempt: number;
  /** Share of the room for suspects that it takes. */
  readonly weight: number;
  readonly dueAt: number;
  readonly envelope: string;
  /** Time until which its lease surely lasts, in epoch milliseconds on the local clock. */
  leaseEndsAt: number;
  /** Permits that it was claimed with, if its topic is limited. */
  permits: Permits | undefined;
  /** Time of its entry in the log of its key; `undefined` if it has none. */
  grantedAt: number | undefined;
  /** Times at which limits let its handler be called; `undefined` if at any time. */
  begin: readonly BeginTimes[] | undefined;
  // The following fields are set once the check has accepted the delivery.
  /** Message as its handler gets it. */
  message: DelayedMessage | undefined;
  /** Settings that apply: the message's own, else the handler's. The timeout is the longest run of its call, in milliseconds. */
  backoff: ActiveBackoff | undefined;
  timeout: number | undefined;
  /** Call that hands it over, with the other messages of a batch. */
  call: Call | undefined;
  /** Time when it was handed over, in epoch milliseconds on the local clock; `undefined` if it was not. */
  startedAt: number | undefined;
  #settledAt: number | undefined;
  #controller: AbortController | undefined;
  #abortReason: DelayQueueError | undefined;

  constructor(partition: Partition, claimed: ClaimedMessage, leaseEndsAt: number) {
    this.partition = partition;
    this.storedId = claimed.storedId;
    ({ id: this.id, key: this.key } = fromStoredId(claimed.storedId));
    this.token = claimed.token;
    this.number = claimed.delivery;
    this.attempt = claimed.attempt;
    this.weight = claimed.weight;
    this.dueAt = claimed.dueAt;
    this.envelope = claimed.envelope;
    this.leaseEndsAt = leaseEndsAt;
  }

  /** Returns the same delivery under the new stored id of its message. */
  renamed(storedId: string): Delivery {
    if (storedId === this.storedId) return this;
    const { partition, token, number, attempt, weight, dueAt, envelope, leaseEndsAt } = this;
    const claimed = { storedId, token, delivery: number, attempt, weight, dueAt, envelope };
    return new Delivery(partition, claimed, leaseEndsAt);
  }

  /** Time until which it surely belongs to this process, by its lease and its permit, in epoch milliseconds on the local clock. */
  get endsAt(): number {
    return this.permits ? Math.min(this.leaseEndsAt, this.permits.endsAt) : this.leaseEndsAt;
  }

  /** Last moment at which limits let its handler be called, in epoch milliseconds on the local clock. */
  get mustBeginBy(): number {
    return this.begin === undefined ? Infinity : Math.min(...this.begin.map(({ until }) => until));
  }

  /** Whether its outcome is decided; anything that its handler still does has no effect. */
  get settled(): boolean {
    return this.#settledAt !== undefined;
  }

  /** Run time of its handler until the outcome was decided, in milliseconds; 0 if it was not called. */
  get duration(): number {
    const { startedAt } = this;
    return startedAt === undefined || this.#settledAt === undefined ? 0 : this.#settledAt - startedAt;
  }

  /**
   * Notes that its outcome is decided.
   *
   * @param now epoch milliseconds on the local clock
   */
  settle(now: number): void {
    this.#settledAt = now;
  }

  /** Abort signal, created on first access: most handlers never use it, and it costs more than the rest of a delivery. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abortReason) this.#controller.abort(this.#abortReason);
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#abortReason !== undefined;
  }

  /** Aborts the delivery; the first reason counts. */
  abort(reason: DelayQueueError): void {
    if (this.#abortReason) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  /** Returns the fields that all events about this delivery share. */
  describe(): DeliveryEvent {
    const { id, key, attempt } = this;
    return { topic: this.partition.topic, partition: this.partition.index, id, key, attempt };
  }
}

/** A delivery that can be handed to its handler. */
export type CheckedDelivery = Delivery & { readonly message: DelayedMessage; readonly backoff: ActiveBackoff };

/** Shared by all calls, so that none needs a promise of its own before it begins. */
const NOT_BEGUN = Promise.resolve();

/** Deliveries that are handed over together. They share a slot, which is free again once all of them are settled. */
export class Call {
  readonly deliveries: readonly Delivery[];
  /** Resolves when their destination is done with them; a message must not run here again before that. */
  ended = NOT_BEGUN;
  readonly #admission: Pick<Admission, 'freeSlot'>;
  #unsettled: number;

  constructor(deliveries: readonly Delivery[], admission: Pick<Admission, 'freeSlot'>) {
    this.deliveries = deliveries;
    this.#admission = admission;
    this.#unsettled = deliveries.length;
  }

  /** Notes that a delivery is settled; call this once for each. */
  settled(): void {
    if (--this.#unsettled === 0) this.#admission.freeSlot();
  }
}

/** A delivery as its handler sees it. */
export class ConsumedMessage implements DelayedMessage {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly payload: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly #delivery: Delivery;
  readonly #publishedAt: number;

  constructor(delivery: Delivery, envelope: Envelope, maxAttempts: number) {
    this.#delivery = delivery;
    this.#publishedAt = envelope.publishedAt;
    this.id = delivery.id;
    this.topic = delivery.partition.topic;
    this.partition = delivery.partition.index;
    this.key = delivery.key;
    this.payload = envelope.payload;
    this.headers = envelope.headers;
    this.attempt = delivery.attempt;
    this.maxAttempts = maxAttempts;
  }

  get publishedAt(): Date {
    return new Date(this.#publishedAt);
  }

  get dueAt(): Date {
    return new Date(this.#delivery.dueAt);
  }

  get signal(): AbortSignal {
    return this.#delivery.signal;
  }
}
