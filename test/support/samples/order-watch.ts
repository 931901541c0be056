import type { Redis } from 'ioredis';
import type { Api } from './api.js';

export interface WatchedOrder {
  readonly id: string;
  readonly status: string;
  readonly payBy: string;
}

/** Bounds of a time span, in seconds. */
export interface Bounds {
  readonly least: number;
  readonly most: number;
}

/**
 * Sees from outside how late orders are closed: it asks for them again and again, and looks at Redis's clock before and after
 * each time. An order was closed after the clock was read for the last time that it was open, and before it was read after the
 * first time that it was closed.
 */
export class OrderWatch {
  readonly #api: Api;
  readonly #redis: Redis;
  readonly #openAt = new Map<string, number>();
  readonly #latenesses = new Map<string, Bounds>();
  /** How long a look took at most, in seconds; what is seen cannot be more exact. */
  longestLook = 0;

  constructor(api: Api, redis: Redis) {
    this.#api = api;
    this.#redis = redis;
  }

  /** Redis's clock, epoch milliseconds. */
  async now(): Promise<number> {
    const [seconds, microseconds] = await this.#redis.time();
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  }

  /** Looks at the orders that were not closed before. */
  async look(): Promise<void> {
    const before = await this.now();
    const { body: orders } = await this.#api.get<WatchedOrder[]>('/orders');
    const after = await this.now();
    this.longestLook = Math.max(this.longestLook, (after - before) / 1000);
    for (const { id, status, payBy } of orders) {
      if (status === 'open') this.#openAt.set(id, before);
      if (status !== 'closed' || this.#latenesses.has(id)) continue;
      const dueAt = Date.parse(payBy);
      const openAt = this.#openAt.get(id) ?? dueAt;
      this.#latenesses.set(id, { least: (openAt - dueAt) / 1000, most: (after - dueAt) / 1000 });
    }
  }

  /** Of the orders that are closed, the latenesses that are possible. */
  latenesses(ids: readonly string[]): Bounds[] {
    return ids.flatMap((id) => this.#latenesses.get(id) ?? []);
  }
}
