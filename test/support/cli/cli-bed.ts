import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
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
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from 'vitest';
import { eventually } from '../waiting.js';
import { type Outcome, runInProcess } from './run-in-process.js';

export const TOPIC = 'order.timeout';

/** In what is expected: a text that fits. */
export const text = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

export const ISO = text(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** Fails what asks for it. */
@Injectable()
class Orders {
  @DelayedHandler(TOPIC, { attempts: 1 })
  onTimeout(payload: { fail?: string }): void {
    if (payload.fail !== undefined) throw new UnrecoverableError(payload.fail);
  }
}

const SILENT = { log() {}, warn() {}, error() {} };

interface Given {
  readonly payload: object;
  readonly options?: PublishOptions;
}

export interface CliBedOptions {
  /** Whether what has ended is kept. */
  readonly finished?: boolean;
  /** Whether messages of a key come one after the other. @defaultValue no */
  readonly ordered?: boolean;
  /** What handles messages. */
  readonly handlers?: readonly (new () => object)[];
}

/** A prefix with messages for the command line to find, and an admin that sees what it has done. */
export class CliBed {
  prefix = '';
  readonly #redis: string;
  readonly #options: CliBedOptions;
  #admin: ConnectedDelayQueueAdmin | undefined;

  constructor(redis: string, options: CliBedOptions) {
    this.#redis = redis;
    this.#options = options;
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

  /** The document that a command prints which succeeds. */
  readonly json = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await this.run(...args, '--json');
    if (code !== 0 || stderr !== '' || !stdout.endsWith('\n'))
      throw new Error(`${args[0]} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout);
  };

  /** Publishes messages by an application that has ended afterwards; those with `fail` are dead letters by then. */
  async publish(messages: readonly Given[]): Promise<void> {
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

  /** Publishes messages again and again until a command ends: it is not known from when on it follows. */
  async whilePublishing(messages: readonly Given[], running: Promise<Outcome>): Promise<Outcome> {
    const ended = new AbortController();
    const following = running.finally(() => ended.abort());
    await this.whileHandling(async (producer) => {
      while (!ended.signal.aborted) {
        await producer.publishMany(TOPIC, messages);
        await setTimeout(50);
      }
    });
    return following;
  }

  /** Runs something while an application handles the topic. */
  async whileHandling<T>(work: (producer: DelayQueueProducer) => Promise<T>): Promise<T> {
    const { finished, ordered = false, handlers = [Orders] } = this.#options;
    const topics = { [TOPIC]: { ordered, ...(finished && { finished: { maxCount: 100 } }) } };
    const queue = DelayQueueModule.forRoot({ redis: this.#redis, prefix: this.prefix, fleetEvents: true, topics });
    const app = await NestFactory.createApplicationContext(appOf(queue, handlers), { logger: false });
    try {
      return await work(app.get(DelayQueueProducer));
    } finally {
      await app.close();
    }
  }
}

function appOf(
  queue: ReturnType<typeof DelayQueueModule.forRoot>,
  handlers: readonly (new () => object)[],
): new () => object {
  @Module({ imports: [queue], providers: [...handlers] })
  class App {}

  return App;
}

/**
 * A bed for the tests of a file. To be called while tests are collected.
 *
 * @param per how long its messages are there
 */
export function useCliBed(
  per: 'file' | 'test',
  fill: (bed: CliBed) => Promise<void> = async () => {},
  options: CliBedOptions = {},
): CliBed {
  const bed = new CliBed(inject('redisUrl'), options);
  const [before, after] = per === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    await bed.open();
    await fill(bed);
  });
  after(async () => bed.close());
  return bed;
}
