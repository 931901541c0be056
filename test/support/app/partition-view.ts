import type { Redis } from 'ioredis';
import { sessionOfOwner } from '../internals.js';

/** The data of one partition in Redis, read key by key. */
export class PartitionView {
  readonly #redis: Redis;
  readonly #tag: string;

  constructor(redis: Redis, prefix: string, topic: string, index: number) {
    this.#redis = redis;
    this.#tag = `{${prefix}:${topic}:${index}}`;
  }

  key(name: string): string {
    return `${this.#tag}:${name}`;
  }

  /** Due time of a waiting message, epoch milliseconds. */
  async dueAt(storedId: string): Promise<number | undefined> {
    return numberOf(await this.#redis.zscore(this.key('scheduled'), storedId));
  }

  async scheduled(): Promise<string[]> {
    return this.#redis.zrange(this.key('scheduled'), '0', '-1');
  }

  async inFlight(): Promise<string[]> {
    return this.#redis.zrange(this.key('inflight'), '0', '-1');
  }

  async dead(): Promise<string[]> {
    return this.#redis.zrange(this.key('dead'), '0', '-1');
  }

  /** Time of death of a dead letter, epoch milliseconds. */
  async diedAt(storedId: string): Promise<number | undefined> {
    return numberOf(await this.#redis.zscore(this.key('dead'), storedId));
  }

  /** The envelope as it is stored. */
  async envelope(storedId: string): Promise<string | undefined> {
    return (await this.#redis.hget(this.key('messages'), storedId)) ?? undefined;
  }

  async payload(storedId: string): Promise<unknown> {
    const [, payload] = JSON.parse((await this.envelope(storedId)) ?? '[]') as unknown[];
    return payload;
  }

  /** The last failure of a message, without its history. */
  async failure(storedId: string): Promise<Record<string, unknown> | undefined> {
    const failure = await this.#redis.hget(this.key('errors'), storedId);
    if (failure === null) return undefined;
    const { history: _history, ...rest } = JSON.parse(failure) as Record<string, unknown>;
    return rest;
  }

  /** How often a message was delivered, and how many of its attempts are spent. */
  async spent(storedId: string): Promise<{ deliveries: number; attempts: number }> {
    const record = (await this.#redis.hget(this.key('deliveries'), storedId)) ?? '0 0 0 0';
    const [, deliveries, attempts] = record.split(' ').map(Number);
    return { deliveries: deliveries ?? NaN, attempts: attempts ?? NaN };
  }

  /** What it has counted; its owner's latest claim is kept beside that. */
  async counters(): Promise<Record<string, string>> {
    const { claim: _claim, ...counters } = await this.#redis.hgetall(this.key('meta'));
    return counters;
  }

  /** The process that owns it. */
  async owner(): Promise<string | undefined> {
    return sessionOfOwner((await this.#redis.get(this.key('owner'))) ?? undefined);
  }
}

function numberOf(score: string | null): number | undefined {
  return score === null ? undefined : Number(score);
}
