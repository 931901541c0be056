import { randomUUID } from 'node:crypto';
import { type JobsOptions, Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, inject } from 'vitest';

/** A queue of BullMQ on the Redis of the tests, one for each test. */
export class BullBed {
  #queue: Queue | undefined;
  #redis: Redis | undefined;

  get name(): string {
    return this.queue.name;
  }

  get queue(): Queue {
    if (!this.#queue) throw new Error('The bed is not open.');
    return this.#queue;
  }

  /** To look at keys, and to write those of older versions. */
  get redis(): Redis {
    if (!this.#redis) throw new Error('The bed is not open.');
    return this.#redis;
  }

  key(name: string): string {
    return `bull:${this.name}:${name}`;
  }

  async open(name = `queue-${randomUUID()}`): Promise<void> {
    const url = inject('redisUrl');
    this.#redis = new Redis(url);
    this.#queue = new Queue(name, { connection: connectionTo(url) });
    await this.#queue.waitUntilReady();
  }

  async close(): Promise<void> {
    await this.queue.close();
    const keys = await this.redis.keys(this.key('*'));
    if (keys.length > 0) await this.redis.del(...keys);
    this.redis.disconnect();
  }

  /** Adds jobs that are delayed by an hour, or as their options say. */
  async add(...jobs: readonly { name?: string; data?: object; opts?: JobsOptions }[]): Promise<void> {
    await this.queue.addBulk(
      jobs.map(({ name = 'timeout', data = {}, opts }) => ({ name, data, opts: { delay: 3_600_000, ...opts } })),
    );
  }
}

/** A bed for the tests of a file. To be called while tests are collected. */
export function useBullBed(name?: string): BullBed {
  const bed = new BullBed();
  beforeEach(async () => bed.open(name));
  afterEach(async () => bed.close());
  return bed;
}

/** As BullMQ takes the Redis of a test. */
export function connectionTo(url: string): { host: string; port: number; db: number; maxRetriesPerRequest: null } {
  const { hostname, port, pathname } = new URL(url);
  return { host: hostname, port: Number(port), db: Number(pathname.slice(1)), maxRetriesPerRequest: null };
}
