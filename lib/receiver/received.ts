import type { ExtendStatus } from '../broker/broker.interface.js';
import type { CheckedDelivery } from '../consumer/delivery-check.js';
import { DeliveryAbortedError } from '../errors/handling.errors.js';
import type { SettleStatus } from '../messages/settle-status.js';
import { toDate } from '../time/date.js';
import type { Duration } from '../time/duration.js';
import type { ReceiptOutcome, ReceivedMessage } from './received-message.js';

/** What settles receipts. */
export interface ReceiptKeeper {
  settle(receipt: string, outcome: ReceiptOutcome): Promise<SettleStatus>;
  extend(receipt: string, lease: Duration): Promise<ExtendStatus>;
}

/** A message that was received in this process. */
export class Received implements ReceivedMessage {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly payload: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly publishedAt: Date;
  readonly dueAt: Date;
  readonly receipt: string;
  readonly leaseEndsAt: Date | undefined;
  readonly #delivery: CheckedDelivery['delivery'];
  readonly #keeper: ReceiptKeeper;

  /** @param leaseEndsAt on the broker's clock, epoch milliseconds; Infinity for none */
  constructor({ delivery, message }: CheckedDelivery, receipt: string, leaseEndsAt: number, keeper: ReceiptKeeper) {
    this.id = message.id;
    this.topic = message.topic;
    this.partition = message.partition;
    this.key = message.key;
    this.payload = message.payload;
    this.headers = message.headers;
    this.attempt = message.attempt;
    this.maxAttempts = message.maxAttempts;
    this.publishedAt = message.publishedAt;
    this.dueAt = message.dueAt;
    this.receipt = receipt;
    this.leaseEndsAt = leaseEndsAt === Infinity ? undefined : toDate(leaseEndsAt);
    this.#delivery = delivery;
    this.#keeper = keeper;
  }

  get signal(): AbortSignal {
    return this.#delivery.signal;
  }

  async ack(): Promise<SettleStatus> {
    return this.#keeper.settle(this.receipt, 'ack');
  }

  async retry(error?: unknown, delay?: Duration): Promise<SettleStatus> {
    return this.#keeper.settle(this.receipt, { outcome: 'retry', error, delay });
  }

  async dead(reason: unknown): Promise<SettleStatus> {
    return this.#keeper.settle(this.receipt, { outcome: 'dead', reason });
  }

  async release(): Promise<SettleStatus> {
    return this.#keeper.settle(this.receipt, 'release');
  }

  async extend(lease: Duration): Promise<ExtendStatus> {
    const status = await this.#keeper.extend(this.receipt, lease);
    if (status !== 'extended') {
      this.#delivery.abort(new DeliveryAbortedError(status === 'lost' ? 'LEASE_LOST' : 'CANCELLED'));
    }
    return status;
  }
}
