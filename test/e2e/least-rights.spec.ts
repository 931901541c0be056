import { type INestApplicationContext, Injectable, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import {
  createDelayQueueAdmin,
  DelayedHandler,
  DelayQueueAdmin,
  DelayQueueEvents,
  DelayQueueHealth,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  DelayQueueProducer,
} from 'nestjs-delay-queue';
import { filter, firstValueFrom } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Role, aclRule, brokerOf } from '../support/internals.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

/** What the library tries and can do without; Redis 6.2 names the command alone. */
const OPTIONAL = new Set(['config', 'config|get', 'client', 'client|setinfo']);

const SILENT = { log: () => {}, warn: () => {}, error: () => {} };

@Injectable()
class Handler {
  @DelayedHandler('rights', { attempts: 1 })
  handle(payload: string): void {
    if (payload === 'fail') throw new Error('as it should');
  }
}

describe('a Redis user with the least rights of', () => {
  let redis: PrivateRedis;
  let root: Redis;
  const open: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    root = new Redis(redis.url);
  });

  beforeEach(async () => {
    await root.flushall();
  });

  afterEach(async () => {
    for (const each of open.splice(0).toReversed()) await each.close();
  });

  afterAll(async () => {
    root.disconnect();
    await redis.stop();
  });

  it('a producer: an application that only publishes can do all it does', async () => {
    const app = await boot(await urlOf('producer'), { consumer: false, fleetEvents: true });
    const producer = app.get(DelayQueueProducer);
    await producer.publish('rights', 1, { id: 'a', delay: '1h' });
    await producer.publish('rights', 2, { id: 'a', delay: '1h', onDuplicate: 'replace' });
    await producer.publish('rights', 3, { id: 'b', key: 'k', delay: '1h' });
    expect(await producer.reschedule('rights', 'b', { delay: '2h' })).toBe('moved');
    expect(await producer.cancel('rights', 'b')).toBe('cancelled');
    expect(await app.get(DelayQueueHealth).check()).toMatchObject({ status: 'up' });

    expect(await refusals()).toEqual([]);
  });

  it('a consumer: an application that handles messages can do all it does', async () => {
    const app = await boot(await urlOf('consumer'), CONSUMING);
    await handleSome(app);
    expect(await app.get(DelayQueueHealth).check()).toMatchObject({ status: 'up' });
    await open.pop()?.close();

    expect(await refusals()).toEqual([]);
  });

  it('an operator: the admin can do all it does', async () => {
    const app = await boot(redis.url, CONSUMING);
    await handleSome(app);
    const admin = await createDelayQueueAdmin({ redis: await urlOf('operator'), log: SILENT });
    open.push(admin);
    const producer = app.get(DelayQueueProducer);
    await admin.pause('rights');
    await admin.hold('rights', '1h');
    for (const id of ['c', 'd', 'e', 'f']) await producer.publish('rights', 'wait', { id, delay: '1h' });
    await producer.publish('rights', 'keyed', { id: 'g', key: 'k', delay: '1h' });
    expect(await admin.topics()).toEqual(['rights']);
    expect(await admin.stats('rights')).toMatchObject({ scheduled: 5, dead: 2 });
    expect((await admin.peek('rights', 'scheduled')).messages).toHaveLength(5);
    expect(await admin.get('rights', 'g')).toMatchObject({ key: 'k' });
    expect(await admin.edit('rights', 'c', 'x'.repeat(20_000))).toBe('edited');
    expect(await admin.runNow('rights', 'c')).toBe('moved');
    expect(await admin.reschedule('rights', 'd', { delay: '2h' })).toBe('moved');
    expect(await admin.cancel('rights', 'e')).toBe('cancelled');
    const { total, groups } = await admin.deadLetterGroups('rights');
    expect([total, groups.length]).toEqual([2, 1]);
    expect(await admin.requeue('rights', 'a')).toMatchObject({ changed: 1 });
    expect(await admin.remove('rights', { reason: 'failed' })).toMatchObject({ changed: 1 });
    expect(await admin.purge('rights')).toMatchObject({ changed: 0 });
    expect(await admin.drain('rights')).toMatchObject({ changed: 5 });
    await admin.resume('rights');
    const { findings } = await admin.doctor();
    const told = findings.filter(({ check }) => check === 'rights' || check === 'signals');
    expect(told).toMatchObject([
      { level: 'warning', message: expect.stringMatching(/an operator needs.*A consumer would be refused/) as string },
      { level: 'ok' },
    ]);

    expect(await refusals()).toEqual([]);
  });

  it('a producer: what others do is refused as a whole, before anything is sent', async () => {
    await handleSome(await boot(redis.url, CONSUMING));
    const app = await boot(await urlOf('producer'), { consumer: false });
    const admin = app.get(DelayQueueAdmin);

    const trimmed = brokerOf(app).deadLetters.trimDead({ topic: 'rights', index: 0 }, { maxCount: 0 });
    await expect(trimmed).rejects.toThrow(/may not do this.*nestjs-delay-queue acl.*ZRANGEBYSCORE: /s);
    await expect(admin.topics()).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE', transient: false });
    expect(await admin.stats('rights')).toMatchObject({ dead: 2 });
    expect(await refusals('lua')).toEqual([]);
  });

  it.each([
    { role: 'producer', options: { consumer: false } },
    { role: 'consumer', options: {} },
  ] as const)('a $role: without one of them it does not boot', async ({ role, options }) => {
    const url = await urlOf(role, '-zscore');
    await expect(boot(url, options)).rejects.toThrow(/refuses what is needed.*Refused: ZSCORE: /s);
  });

  const CONSUMING: DelayQueueModuleOptions = {
    topics: { rights: { deadLetter: { maxCount: 10 } } },
    fleetEvents: true,
  };

  async function boot(url: string, options: DelayQueueModuleOptions): Promise<INestApplicationContext> {
    const app = await NestFactory.createApplicationContext(
      moduleOf(DelayQueueModule.forRoot({ redis: url, ...options }), options.consumer === false ? [] : [Handler]),
      { logger: false, abortOnError: false },
    );
    open.push(app);
    // The boot tries all commands, also those that this role does without.
    await root.call('ACL', 'LOG', 'RESET');
    return app;
  }

  /** Makes a user with the rights of a role. */
  async function urlOf(role: Role, ...more: readonly string[]): Promise<string> {
    const [, ...rule] = aclRule(role, { user: role, prefix: 'dq' }).replace('ACL SETUSER ', '').split(' ');
    await root.call('ACL', 'SETUSER', role, 'reset', '>secret', ...rule, ...more);
    await root.call('ACL', 'LOG', 'RESET');
    return `redis://${role}:secret@127.0.0.1:${redis.port}`;
  }

  /**
   * The commands that Redis has refused, but for those that the library can do without. In scripts only a trial of all commands
   * is refused any: what another script lacks is not sent, and its call rejects.
   */
  async function refusals(context: 'toplevel' | 'lua' = 'toplevel'): Promise<string[]> {
    const log = (await root.call('ACL', 'LOG')) as (string | number)[][];
    return log
      .filter((entry) => entry[entry.indexOf('context') + 1] === context)
      .map((entry) => String(entry[entry.indexOf('object') + 1]))
      .filter((command) => !OPTIONAL.has(command));
  }
});

function moduleOf(queue: ReturnType<typeof DelayQueueModule.forRoot>, providers: Type[]): Type {
  @Module({ imports: [queue], providers })
  class App {}

  return App;
}

/** Has a message handled, two fail, and follows the events of the fleet meanwhile. */
async function handleSome(app: INestApplicationContext): Promise<void> {
  const producer = app.get(DelayQueueProducer);
  const { acked, fleet } = app.get(DelayQueueEvents);
  const [succeeded, told] = [firstValueFrom(acked), firstValueFrom(fleet.pipe(filter(({ kind }) => kind === 'dead')))];
  await producer.publish('rights', 'succeed');
  for (const id of ['a', 'b']) await producer.publish('rights', 'fail', { id });
  await Promise.all([succeeded, told]);
}
