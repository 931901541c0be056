import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { Envelope } from '../messages/envelope.js';
import type { Delivery } from './delivery.js';

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
