import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as ioredis from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { BullImport } from '../../lib/cli/bullmq-import/bull-import.js';
import { BullQueue } from '../../lib/cli/bullmq-import/bull-queue.js';
import { ImportSession } from '../../lib/cli/bullmq-import/import-session.js';
import { Releaser } from '../../lib/cli/bullmq-import/releaser.js';
import { RedisConnection } from '../../lib/broker/redis/redis-connection.js';
import { openConnection } from '../../lib/composition/create-delay-queue-admin.js';
import type { DelayQueueConnection } from '../../lib/composition/delay-queue.connection.js';
import { useBullBed } from '../support/bullmq/bull-bed.js';

const TOPIC = 'order.timeout';
const SILENT = { log() {}, warn() {}, error() {} };
const JOBS = 3;

const bull = useBullBed();
let target: DelayQueueConnection;
let source: RedisConnection;
let handled: string[];

beforeEach(async () => {
  const redis = inject('redisUrl');
  target = await openConnection('test', { redis, prefix: `import-${randomUUID()}`, log: SILENT });
  source = new RedisConnection(ioredis, redis, SILENT, 5000);
  await Promise.all([target.broker.connect(), source.connect()]);
  handled = [];
});

afterEach(async () => {
  source.close();
  await target.close();
  const keys = await bull.redis.keys(`{${target.options.prefix}:*`);
  if (keys.length > 0) await bull.redis.del(...keys);
});

/** The process is killed here. */
class Killed extends Error {}

/** Counts the calls of an import that leave the process, and ends it before or after one of them takes effect. */
class Fate {
  calls = 0;
  readonly #deadly: number;
  readonly #when: 'before' | 'after';
  readonly #method: string | undefined;
  #isDead = false;

  /** @param method the first call of this one, instead of a number */
  constructor(deadly = Infinity, when: 'before' | 'after' = 'before', method?: string) {
    this.#deadly = deadly;
    this.#when = when;
    this.#method = method;
  }

  /** The same object, whose calls may be the last. */
  watch<T extends object>(object: T, methods: readonly (keyof T)[]): T {
    return new Proxy(object, {
      get: (from, name) => {
        const value: unknown = Reflect.get(from, name);
        if (typeof value !== 'function') return value;
        const method = value.bind(from) as (...args: unknown[]) => Promise<unknown>;
        return methods.includes(name as keyof T)
          ? (...args: unknown[]) => this.#call(String(name), () => method(...args))
          : method;
      },
    });
  }

  async #call(name: string, method: () => Promise<unknown>): Promise<unknown> {
    if (this.#isDead) throw new Killed();
    this.calls++;
    const isDeadly = this.calls === this.#deadly || name === this.#method;
    this.#isDead = isDeadly;
    if (isDeadly && this.#when === 'before') throw new Killed();
    const result = await method();
    if (isDeadly) throw new Killed();
    return result;
  }
}

/** Runs an import until its end or its death. The lock of one that died has run out for the next. */
async function runImport(fate: Fate, rate?: number): Promise<void> {
  await bull.redis.del(bull.key('delay-queue-import:lock'));
  const queue = new BullQueue(source, 'bull', bull.name);
  const watched = fate.watch(queue, ['take', 'read', 'open', 'park', 'finish']);
  const session = new ImportSession(queue);
  const routes = { queue: bull.name, topic: TOPIC, byName: new Map<string, string>() };
  await session.begin({ routes, target: 'here' }, false, () => {});
  const job = new BullImport({
    queue: watched,
    producer: fate.watch(target.producer, ['publish']),
    admin: fate.watch(target.admin, ['get']),
    releaser: fate.watch(new Releaser(target.broker, 5000), ['release']),
    routes,
    token: session.token,
    parkedUntil: session.parkedUntil,
    rate,
    signal: new AbortController().signal,
    onProgress: () => {},
  });
  try {
    await job.resume();
    await job.move('delayed');
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  } finally {
    await session.end();
  }
}

/** What handlers do meanwhile: what is due is handled and gone. */
async function handleWhatIsDue(ids: readonly string[]): Promise<void> {
  // A whole import may take less than the millisecond after which its jobs are due.
  await sleep(5);
  for (const id of ids) {
    const message = await target.admin.get(TOPIC, id);
    if (message?.state !== 'scheduled' || message.at.getTime() > target.broker.now()) continue;
    if ((await target.producer.cancel(TOPIC, id)) === 'cancelled') handled.push(id);
  }
}

/** Adds jobs that are due at once, since no worker is there to take them. */
async function addDueJobs(name: string): Promise<string[]> {
  const ids = Array.from({ length: JOBS }, (_, i) => `${name}-${i}`);
  await bull.add(...ids.map((jobId) => ({ opts: { jobId, delay: 1 } })));
  return ids;
}

describe('an import that is killed', () => {
  it('has each job handled once, at whichever step it dies, however long it stays dead, and however often', async () => {
    const fate = new Fate();
    const first = await addDueJobs('whole');
    await runImport(fate);
    await handleWhatIsDue(first);
    expect(handled.toSorted()).toEqual(first);
    expect(fate.calls).toBeGreaterThan(8);

    for (const when of ['before', 'after'] as const) {
      for (let deadly = 1; deadly <= fate.calls; deadly++) {
        handled = [];
        const ids = await addDueJobs(`${when}-${deadly}`);
        await runImport(new Fate(deadly, when));
        await handleWhatIsDue(ids);
        await runImport(new Fate(deadly, when));
        await handleWhatIsDue(ids);
        await runImport(new Fate());
        await handleWhatIsDue(ids);
        expect([when, deadly, handled.toSorted()]).toEqual([when, deadly, ids]);
      }
    }
    expect(await bull.redis.keys(bull.key('*import*'))).toEqual([]);
    expect(await bull.queue.getJobCounts('delayed', 'wait')).toEqual({ delayed: 0, wait: 0 });
  });

  it('leaves a message alone that the application has published anew before it is released', async () => {
    const [id = ''] = await addDueJobs('replaced');
    // It dies when the messages are to be released, as if it had been slow to do so.
    await runImport(new Fate(Infinity, 'before', 'release'));
    const options = { id, delay: '1h', onDuplicate: 'replace' } as const;
    const { dueAt, partition } = await target.producer.publish(TOPIC, { another: true }, options);
    const parkedUntil = Number(await bull.redis.hget(bull.key('delay-queue-import:settings'), 'parkedUntil'));
    expect(parkedUntil).toBeGreaterThan(dueAt.getTime());
    const parked = { partition: { topic: TOPIC, index: partition }, id, parkedUntil, dueAt: 0 };
    await new Releaser(target.broker, 5000).release([parked]);
    expect(await target.admin.get(TOPIC, id)).toMatchObject({ at: dueAt, payload: { another: true } });
    await runImport(new Fate());
    expect(await target.admin.get(TOPIC, id)).toMatchObject({ at: dueAt, payload: { another: true } });
  });

  it('takes no more jobs once a step has failed, although the rate would let it', async () => {
    await addDueJobs('slow');
    const begun = performance.now();
    // One job a second, and the first one fails.
    await runImport(new Fate(Infinity, 'before', 'publish'), 1);
    expect(performance.now() - begun).toBeLessThan(900);
    expect(await bull.redis.zcard(bull.key('delay-queue-import:taken'))).toBe(1);
    expect(await bull.queue.getJobCounts('delayed')).toEqual({ delayed: JOBS - 1 });
  });

  it('leaves a message alone that has the id of one that was handled meanwhile', async () => {
    const [id = ''] = await addDueJobs('again');
    // It dies when the messages are released, and nobody has noted that.
    await runImport(new Fate(Infinity, 'after', 'release'));
    await handleWhatIsDue([id]);
    expect(handled).toEqual([id]);
    const { dueAt } = await target.producer.publish(TOPIC, { another: true }, { id, delay: '1h' });
    await runImport(new Fate());
    expect(await target.admin.get(TOPIC, id)).toMatchObject({ at: dueAt, payload: { another: true } });
  });
});
