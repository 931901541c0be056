import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { DelayQueueEvents, DelayQueueModule, DelayQueueProducer, createDelayQueueAdmin } from 'nestjs-delay-queue';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';
import { PRIMARY, startSentinel } from '../support/servers/redis-sentinel.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { Jobs } from '../support/app/jobs.js';
import { type Redises, SECRET, formsOfRedis } from '../support/app/redis-forms.js';
import { eventually } from '../support/waiting.js';

/** A port at which nothing listens: the first one is reserved. */
const NOWHERE = 1;

/** Keeps everything that any part prints, as the most verbose logger would show it. */
class Everything implements LoggerService {
  readonly lines: string[] = [];
  readonly #add = (...args: unknown[]): void => {
    for (const arg of args) this.lines.push(typeof arg === 'string' ? arg : everythingOf(arg));
  };
  readonly log = this.#add;
  readonly warn = this.#add;
  readonly error = this.#add;
  readonly debug = this.#add;
  readonly verbose = this.#add;
  readonly fatal = this.#add;
}

/** Everything of a value that an error report may show: text, stack and properties, also those of its causes. */
function everythingOf(value: unknown): string {
  const parts = [inspect(value, { depth: null, showHidden: true, getters: true })];
  for (let part = value, depth = 0; part instanceof Error && depth < 10; depth++) {
    parts.push(String(part), String(part.stack), JSON.stringify(Object.entries(part)));
    part = part.cause;
  }
  return parts.join('\n');
}

async function failureOf(booting: () => Promise<unknown>): Promise<unknown> {
  return booting().then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );
}

async function protect(server: PrivateRedis | undefined, password: string): Promise<void> {
  const client = new Redis(server?.port ?? 0);
  await client.config('SET', 'requirepass', password);
  client.disconnect();
}

/** An option that ioredis 5 does not know. */
function protocol(version: number): RedisOptions {
  return { protocol: version } as RedisOptions;
}

const local = (port: number) => ({ host: '127.0.0.1', port });

describe('no password is in any log line or error', () => {
  let printed: Everything;
  const cleanups: (() => unknown)[] = [];

  beforeEach(() => {
    printed = new Everything();
    for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
      vi.spyOn(console, method).mockImplementation((...args: unknown[]) => printed.log(...args));
    }
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  function keep<T extends { stop(): Promise<void> }>(server: T): T {
    cleanups.push(() => server.stop());
    return server;
  }

  async function compile(redis: Redises, publishTimeout = 400): Promise<TestingModule> {
    const options = { redis, prefix: randomUUID(), publishTimeout, consumer: { shutdownTimeout: 100 } };
    const module = Test.createTestingModule({ imports: [DelayQueueModule.forRoot(options)], providers: [Jobs] });
    return module.setLogger(printed).compile();
  }

  async function bootFailure(redis: Redises, publishTimeout?: number): Promise<unknown> {
    return failureOf(async () => (await compile(redis, publishTimeout)).init());
  }

  /** Boots, publishes, removes its Redis and publishes again; returns everything that can be seen. */
  async function afterLoss(redis: Redises, lose: () => unknown): Promise<string> {
    const module = await compile(redis, 1000);
    const errors: unknown[] = [];
    module.get(DelayQueueEvents).errors.subscribe(({ error }) => errors.push(error));
    const app = module.createNestApplication();
    await app.init();
    const producer = app.get(DelayQueueProducer);
    await producer.publish('jobs', 1);
    await lose();
    errors.push(await failureOf(() => producer.publish('jobs', 2)));
    await eventually(() => expect(printed.lines.join('\n')).toContain('is lost'));
    await app.close();
    return [...errors.map(everythingOf), ...printed.lines].join('\n');
  }

  describe('of a failing boot', () => {
    for (const [what, form] of Object.entries(formsOfRedis(NOWHERE))) {
      it(`with ${what}`, async () => {
        const error = await bootFailure(form());
        const adminError = await failureOf(() => createDelayQueueAdmin({ redis: form(), timeout: 400, log: printed }));

        expect([everythingOf(error), everythingOf(adminError), ...printed.lines].join('\n')).not.toContain(SECRET);
      });
    }
  });

  describe('if the server refuses the password', () => {
    let server: PrivateRedis;
    let cluster: PrivateCluster;
    beforeAll(async () => {
      server = await startRedis();
      await protect(server, 'right');
      cluster = await startRedisCluster(1);
      await protect(cluster.servers[0], 'right');
    });
    afterAll(async () => {
      await server.stop();
      await cluster.stop();
    });

    const FORMS: Readonly<Record<string, () => Redises>> = {
      'a URL': () => `redis://user:${SECRET}@127.0.0.1:${server.port}/2`,
      'a URL without user': () => `redis://:${SECRET}@127.0.0.1:${server.port}`,
      'protocol 2': () => ({ ...local(server.port), password: SECRET, ...protocol(2) }),
      sentinels: () => ({
        sentinels: [local(server.port)],
        name: PRIMARY,
        sentinelPassword: SECRET,
        password: SECRET,
      }),
      nodes: () => ({ nodes: cluster.nodes, options: { redisOptions: { password: SECRET } } }),
      'nodes as URLs': () => ({ nodes: cluster.nodes.map(({ port }) => `redis://user:${SECRET}@127.0.0.1:${port}`) }),
    };
    for (const [what, form] of Object.entries(FORMS)) {
      it(`with ${what}`, async () => {
        // So long that a busy host has asked by then, too.
        const error = await bootFailure(form(), 5000);

        expect([everythingOf(error), ...printed.lines].join('\n')).not.toContain(SECRET);
        expect(String(error)).toMatch(/WRONGPASS|NOAUTH/);
      });
    }
  });

  describe('of a process that loses its connection', () => {
    const FORMS: Readonly<Record<string, (server: PrivateRedis) => Promise<Redises> | Redises>> = {
      'a URL': ({ port }) => `redis://default:${SECRET}@127.0.0.1:${port}/1`,
      options: ({ port }) => ({ ...local(port), password: SECRET }),
      'an instance': ({ port }) => new Redis({ ...local(port), password: SECRET, lazyConnect: true }),
      sentinels: async (server) => {
        const { port } = keep(await startSentinel(server, [`sentinel auth-pass ${PRIMARY} ${SECRET}`]));
        return { sentinels: [local(port)], name: PRIMARY, password: SECRET };
      },
    };
    for (const [what, form] of Object.entries(FORMS)) {
      it(`with ${what}`, async () => {
        const server = keep(await startRedis());
        await protect(server, SECRET);
        expect(await afterLoss(await form(server), () => server.kill())).not.toContain(SECRET);
      });
    }

    const OF_A_CLUSTER: Readonly<Record<string, (port: number) => Redises>> = {
      nodes: (port) => ({ nodes: [local(port)], options: { redisOptions: { password: SECRET } } }),
      'nodes as URLs': (port) => ({ nodes: [`redis://:${SECRET}@127.0.0.1:${port}`] }),
      'nodes as URLs without scheme': (port) => ({ nodes: [`:${SECRET}@127.0.0.1:${port}`] }),
      'nodes as ports': (port) => ({ nodes: [port], options: { redisOptions: { password: SECRET } } }),
      'an instance of a cluster': (port) =>
        new Cluster([local(port)], { lazyConnect: true, redisOptions: { password: SECRET } }),
    };
    for (const [what, form] of Object.entries(OF_A_CLUSTER)) {
      it(`with ${what}`, async () => {
        const [node] = keep(await startRedisCluster(1)).servers;
        await protect(node, SECRET);
        expect(await afterLoss(form(node?.port ?? 0), () => node?.kill())).not.toContain(SECRET);
      });
    }
  });
});
