import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { INestApplication, INestApplicationContext, ModuleMetadata, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  DelayQueueAdmin,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  type DelayQueueProducer,
  type PublishOptions,
} from 'nestjs-delay-queue';
import { afterAll, afterEach, beforeEach, inject } from 'vitest';
import { partsOf } from '../internals.js';
import { type PrivateRedis, startRedis } from '../servers/redis-server.js';
import { EventLog } from './event-log.js';
import { LogBook } from './log-book.js';
import { PartitionView } from './partition-view.js';
import { ofConsumersAmong, sessionsAmong } from '../stored-fleet.js';
import { SOON, eventually, within } from '../waiting.js';

export interface AppSetup extends Pick<ModuleMetadata, 'imports' | 'providers' | 'controllers'> {
  /** Added to `{ redis, prefix }` of the test. */
  readonly options?: DelayQueueModuleOptions;
}

/** A Nest application of a test, seen through one of its connections. */
export class RunningApp<N extends INestApplicationContext = INestApplication> {
  readonly nest: N;
  readonly producer: DelayQueueProducer;
  readonly events: EventLog;
  readonly logs: LogBook;
  #closing: Promise<void> | undefined;

  constructor(nest: N, logs: LogBook, connection?: string) {
    this.nest = nest;
    this.logs = logs;
    const { producer, events } = partsOf(nest, connection);
    this.producer = producer;
    this.events = new EventLog(events);
  }

  get<T>(type: Type<T>): T {
    return this.nest.get(type, { strict: false });
  }

  async close(): Promise<void> {
    this.#closing ??= this.nest.close();
    await this.#closing;
  }
}

/** One test's share of Redis, and the applications it has started. */
export class Bed {
  prefix = '';
  /** The test's own connection to Redis. */
  readonly redis: Redis;
  readonly #url: string;
  readonly #apps: RunningApp<INestApplicationContext>[] = [];
  #handles: Handles = { sockets: 0, timers: 0 };

  constructor(url: string) {
    this.#url = url;
    this.redis = new Redis(url, { lazyConnect: true, retryStrategy: () => 10 });
    // Some tests stop their server, which breaks this connection.
    this.redis.on('error', () => {});
  }

  /** Connection settings; the name shows who is still connected. */
  get connection(): { host: string; port: number; connectionName: string } {
    const { hostname, port } = new URL(this.#url);
    return { host: hostname, port: Number(port || 6379), connectionName: this.prefix };
  }

  /** Options of a module in this test. */
  options(more: DelayQueueModuleOptions = {}): DelayQueueModuleOptions {
    return { redis: this.connection, prefix: this.prefix, ...more };
  }

  /** Makes an application whose modules are instantiated, but not initialized. */
  async compile({ options = {}, imports = [], ...rest }: AppSetup = {}): Promise<RunningApp> {
    return this.compileWith({ ...rest, imports: [DelayQueueModule.forRoot(this.options(options)), ...imports] });
  }

  /** The same, where the test brings the module along. */
  async compileWith(metadata: ModuleMetadata, connection?: string): Promise<RunningApp> {
    const logs = new LogBook();
    const module = await Test.createTestingModule(metadata).setLogger(logs).compile();
    return this.adopt(module.createNestApplication(), logs, connection);
  }

  /** Takes an application that the test has made in a way of its own, to be closed with the others. */
  adopt<N extends INestApplicationContext>(nest: N, logs: LogBook, connection?: string): RunningApp<N> {
    const app = new RunningApp(nest, logs, connection);
    this.#apps.push(app);
    return app;
  }

  /** Makes an application and boots it. */
  async start(setup: AppSetup = {}): Promise<RunningApp> {
    const app = await this.compile(setup);
    await app.nest.init();
    return app;
  }

  /** Boots an application that is expected to fail, and returns the error of the boot. */
  async failingBoot(setup: AppSetup | (() => Promise<RunningApp>)): Promise<Error> {
    const running = this.#apps.length;
    try {
      const app = typeof setup === 'function' ? await setup() : await this.compile(setup);
      await app.nest.init();
    } catch (error) {
      // Nothing is left to close of the one that failed.
      this.#apps.length = running;
      assert(error instanceof Error);
      return error;
    }
    throw new Error('The application booted, though it should not have.');
  }

  partition(topic: string, index = 0): PartitionView {
    return new PartitionView(this.redis, this.prefix, topic, index);
  }

  /**
   * Has the application that was started last publish a message that has been due for `late` milliseconds, like one that has
   * waited for a consumer: a publish cannot ask for a time that has passed.
   */
  async publishLate(topic: string, payload: unknown, late: number, options: PublishOptions = {}): Promise<void> {
    const app = this.#apps.at(-1);
    assert(app, 'Start an application first.');
    const { partition } = await app.producer.publish(topic, payload, { ...options, delay: '1y' });
    const scheduled = this.partition(topic, partition).key('scheduled');
    const [latest = ''] = await this.redis.zrange(scheduled, '-1', '-1');
    await this.redis.zadd(scheduled, 'XX', String(Math.floor((await this.time()) - late)), latest);
    // Tells the owner.
    await app.get(DelayQueueAdmin).resume(topic);
  }

  /** Every key of this test's prefix. */
  async keys(): Promise<string[]> {
    const keys = new Set<string>();
    for await (const page of this.redis.scanStream({ match: `*${this.prefix}*`, count: 1000 })) {
      for (const key of page as string[]) keys.add(key);
    }
    return [...keys];
  }

  /** The sessions of the applications that consume. */
  async sessions(): Promise<string[]> {
    return sessionsAmong(this.redis, await this.keys());
  }

  /** What applications still have in Redis that consume: sessions, partitions and messages in flight. */
  async ofConsumers(): Promise<string[]> {
    return ofConsumersAmong(this.redis, await this.keys());
  }

  /** The server's clock, epoch milliseconds with fractions. */
  async time(): Promise<number> {
    const [seconds, microseconds] = await this.redis.time();
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  }

  /** Connections of this test's applications. */
  async connections(): Promise<number> {
    const clients = (await this.redis.client('LIST')) as string;
    return clients.split('\n').filter((client) => client.includes(` name=${this.prefix} `)).length;
  }

  async open(): Promise<void> {
    this.prefix = `e2e-${randomUUID()}`;
    await this.redis.ping();
    this.#handles = openHandles();
  }

  /** Closes every application and expects that nothing is left of them. */
  async close(): Promise<void> {
    const apps = this.#apps.splice(0);
    await within('closing the applications', Promise.all(apps.map(async (app) => app.close())), 15_000);
    await this.expectNothingOpen();
    const keys = await this.keys();
    if (keys.length > 0) await this.redis.unlink(keys);
  }

  /** Closes what a failed test has left, and expects nothing of it. */
  async abandon(): Promise<void> {
    await Promise.allSettled(this.#apps.splice(0).map(async (app) => app.close()));
  }

  /** No connection, socket or timer more than when the test began. */
  async expectNothingOpen(timeout = SOON): Promise<void> {
    await eventually(async () => assert.equal(await this.connections(), 0, 'connections left open'), timeout);
    await eventually(() => {
      const { sockets, timers } = openHandles();
      assert(sockets <= this.#handles.sockets, `${sockets} sockets left open`);
      assert(timers <= this.#handles.timers, `${timers} timers left running`);
    }, timeout);
  }
}

/** Gives each test of a file its own bed. */
export function useBed(): Bed {
  const bed = new Bed(inject('redisUrl'));
  beforeEach(async () => bed.open());
  afterEach(async () => bed.close());
  afterAll(() => bed.redis.disconnect());
  return bed;
}

/**
 * Runs a test, or a part of one, on a Redis server of its own, which it may end and start again; if it fails, nothing of it is
 * left either.
 *
 * @param args options of the server
 */
export async function onOwnRedis<T>(
  test: (own: Bed, server: PrivateRedis) => Promise<T>,
  args: readonly string[] = [],
): Promise<T> {
  const server = await startRedis(args);
  const own = new Bed(server.url);
  try {
    await own.open();
    const result = await test(own, server);
    await own.close();
    return result;
  } finally {
    await own.abandon();
    own.redis.disconnect();
    await server.stop();
  }
}

interface Handles {
  readonly sockets: number;
  readonly timers: number;
}

/** What keeps this process alive. */
function openHandles(): Handles {
  const resources = process.getActiveResourcesInfo();
  return {
    sockets: resources.filter((resource) => resource === 'TCPSocketWrap').length,
    timers: resources.filter((resource) => resource === 'Timeout').length,
  };
}
