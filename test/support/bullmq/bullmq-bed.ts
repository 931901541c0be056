import { randomUUID } from 'node:crypto';
import { FlowProducer, type Job, type JobsOptions, Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { RedisConnection } from '../../../lib/engines/redis/connection/redis-connection.js';
import { BullmqQueue } from '../../../tools/import-bullmq/bullmq-queue.js';

export interface BullmqConnection {
  readonly host: string;
  readonly port: number;
  readonly db?: number;
}

/** A queue of BullMQ, with its jobs numbered. */
export class BullmqBed {
  readonly name: string;
  readonly prefix: string;
  readonly queue: Queue;
  readonly connection: BullmqConnection;

  constructor(connection: BullmqConnection, prefix: string, name = `orders-${randomUUID()}`) {
    this.connection = connection;
    this.prefix = prefix;
    this.name = name;
    this.queue = new Queue(this.name, { connection, prefix });
  }

  /** As an import sees it. */
  seenThrough(connection: RedisConnection): BullmqQueue {
    return new BullmqQueue(connection, this.prefix, this.name);
  }

  async add(order: number, options: JobsOptions, name = 'timeout'): Promise<Job> {
    return this.queue.add(name, { order }, options);
  }

  /** A flow whose child is delayed. */
  async addFlow(): Promise<void> {
    const flows = new FlowProducer({ connection: this.connection, prefix: this.prefix });
    const [name, queueName] = ['flow', this.name];
    await flows.add({ name, queueName, children: [{ name, queueName, opts: { delay: 3_600_000, jobId: 'child' } }] });
    await flows.close();
  }

  /** Handles what is due until it is closed. */
  work(handle: (order: number) => void, concurrency = 1): Worker {
    const options = { connection: this.connection, prefix: this.prefix, concurrency };
    return new Worker(this.name, async ({ data }: Job<{ order: number }>) => handle(data.order), options);
  }

  async delayed(): Promise<string[]> {
    return (await this.queue.getDelayed()).map(({ id }) => id as string).toSorted();
  }

  key(name: string): string {
    return `${this.prefix}:${this.name}:${name}`;
  }

  /** Closes it, and removes all that it had. */
  async close(redis: Redis): Promise<void> {
    await this.queue.close();
    const keys = await redis.keys(this.key('*'));
    if (keys.length > 0) await redis.unlink(keys);
  }
}
