import { randomUUID } from 'node:crypto';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import {
  type ConnectedDelayQueueAdmin,
  createDelayQueueAdmin,
  DelayedHandler,
  DelayQueueModule,
  DelayQueueProducer,
  type PublishOptions,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest';
import { eventually } from '../waiting.js';
import { type Outcome, readSuccess, runInProcess } from './run-in-process.js';

export const TOPIC = 'order.timeout';

/** Fails what asks for it. */
@Injectable()
class Orders {
  @DelayedHandler(TOPIC, { attempts: 1 })
  onTimeout(payload: { fail?: string }): void {
    if (payload.fail !== undefined) throw new UnrecoverableError(payload.fail);
  }
}

const SILENT = { log() {}, warn() {}, error() {} };

/** A prefix with messages for the command line to find, and an admin that sees what it has done. */
export class CliBed {
  prefix = '';
  readonly #redis: string;
  #admin: ConnectedDelayQueueAdmin | undefined;

  constructor(redis: string) {
    this.#redis = redis;
  }

  get redisUrl(): string {
    return this.#redis;
  }

  /** How the command line finds the messages. */
  get env(): Record<string, string> {
    return { DELAY_QUEUE_REDIS: this.#redis, DELAY_QUEUE_PREFIX: this.prefix };
  }

  get admin(): ConnectedDelayQueueAdmin {
    if (!this.#admin) throw new Error('The bed is not open.');
    return this.#admin;
  }

  async open(): Promise<void> {
    this.prefix = `cli-${randomUUID()}`;
    this.#admin = await createDelayQueueAdmin({ redis: this.#redis, prefix: this.prefix, log: SILENT });
  }

  async close(): Promise<void> {
    await this.#admin?.close();
    const redis = new Redis(this.#redis);
    const keys = await redis.keys(`{${this.prefix}:*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  }

  /** Runs a command on the messages. */
  readonly run = async (...args: readonly string[]): Promise<Outcome> => runInProcess(args, { env: this.env });

  /** What a command that succeeds prints with `--json`. */
  readonly json = async (...args: readonly string[]): Promise<unknown> =>
    readSuccess(await this.run(...args, '--json'));

  /** Publishes messages by an application that has ended afterwards; those with `fail` are dead letters by then. */
  async publish(messages: readonly { payload: object; options?: PublishOptions }[]): Promise<void> {
    await this.whileHandling(async (producer) => {
      const { dead: before } = await this.admin.stats(TOPIC);
      await producer.publishMany(TOPIC, messages);
      const failing = messages.filter(({ payload }) => 'fail' in payload).length;
      await eventually(async () => {
        const { dead } = await this.admin.stats(TOPIC);
        if (dead < before + failing) throw new Error(`${dead - before} of ${failing} are dead`);
      });
    });
  }

  /** Runs something while an application handles the topic. */
  async whileHandling<T>(work: (producer: DelayQueueProducer) => Promise<T>): Promise<T> {
    const app = await NestFactory.createApplicationContext(
      appOn(DelayQueueModule.forRoot({ redis: this.#redis, prefix: this.prefix, fleetEvents: true })),
      { logger: false },
    );
    try {
      return await work(app.get(DelayQueueProducer));
    } finally {
      await app.close();
    }
  }
}

function appOn(queue: ReturnType<typeof DelayQueueModule.forRoot>): new () => object {
  @Module({ imports: [queue], providers: [Orders] })
  class App {}

  return App;
}

/**
 * A bed for the tests of a file. To be called while tests are collected.
 *
 * @param per how long its messages are there
 */
export function useCliBed(per: 'file' | 'test', fill: (bed: CliBed) => Promise<void> = async () => {}): CliBed {
  const bed = new CliBed(inject('redisUrl'));
  const [before, after] = per === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    await bed.open();
    await fill(bed);
  });
  after(async () => bed.close());
  return bed;
}
