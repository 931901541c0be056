import {
  BrokerUnavailableError,
  ConfigurationError,
  DelayQueueAdmin,
  type DelayQueueAdminOptions,
  InvalidArgumentError,
  PayloadTooLargeError,
  SerializationError,
  createDelayQueueAdmin,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { Gate, eventually } from '../support/waiting.js';

const bed = useBed();

const SILENT = { log() {}, warn() {}, error() {} };

async function start(options: object = {}) {
  const app = await bed.start({ providers: [Jobs], options: { defaults: { attempts: 1 }, ...options } });
  return { producer: app.producer, jobs: app.get(Jobs), admin: app.get(DelayQueueAdmin) };
}

describe('an admin without Nest', () => {
  it('sees and does the same as one with Nest, and nothing once it is closed', async () => {
    const { producer, jobs } = await start();
    const admin = await createDelayQueueAdmin({ redis: bed.connection, prefix: bed.prefix, log: SILENT });
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });

    expect(await admin.topics()).toEqual(['jobs']);
    expect(await admin.get('jobs', 'a')).toMatchObject({ state: 'scheduled', payload: 1 });
    expect(await admin.runNow('jobs', 'a')).toBe('moved');
    await jobs.called();
    await admin.close();
    const refused = await admin.topics().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BrokerUnavailableError);
    expect(refused).toMatchObject({ transient: false });
  });

  it.each<[string, DelayQueueAdminOptions]>([
    ['an unknown option', { host: 'localhost' } as DelayQueueAdminOptions],
    ['a prefix with braces', { prefix: '{a}' }],
    ['no Redis', { redis: 'localhost' }],
    ['no time', { timeout: 0 }],
    ['too much time', { timeout: '2m' }],
  ])('refuses %s', async (_what, options) => {
    await expect(createDelayQueueAdmin(options)).rejects.toThrow(ConfigurationError);
  });

  it('fails in time if Redis is not there', async () => {
    const admin = createDelayQueueAdmin({ redis: 'redis://127.0.0.1:1', timeout: 100, log: SILENT });
    await expect(admin).rejects.toThrow(BrokerUnavailableError);
  });
});

describe('an admin changes one message and', () => {
  it('edits a waiting payload; headers, options and due time stay', async () => {
    const { producer, jobs, admin } = await start();
    const options = { id: 'a', key: 'k', delay: '1h', headers: { trace: '7f' }, attempts: 3, timeout: '5s' } as const;
    const { dueAt, partition } = await producer.publish('jobs', { n: 1 }, options);

    expect(await admin.edit('jobs', 'a', { n: 2 })).toBe('edited');

    expect(await admin.get('jobs', 'a')).toMatchObject({ payload: { n: 2 }, headers: { trace: '7f' }, at: dueAt });
    const [publishedAt, payload, stored] = JSON.parse(
      (await bed.partition('jobs', partition).envelope('a\0k')) ?? '',
    ) as unknown[];
    expect([typeof publishedAt, payload, stored]).toEqual(['number', { n: 2 }, { h: { trace: '7f' }, a: 3, t: 5000 }]);
    expect(await admin.runNow('jobs', { id: 'a', key: 'k' })).toBe('moved');
    const [call] = await jobs.called();
    expect(call).toMatchObject({ payload: { n: 2 }, message: { maxAttempts: 3, headers: { trace: '7f' } } });
  });

  it('answers what a message is instead, if it does not wait', async () => {
    const { producer, jobs, admin } = await start();
    const gate = new Gate();
    jobs.respond = async (payload) => {
      if (payload === 'slow') await gate.opened;
      else throw new Error('down');
    };
    await producer.publish('jobs', 1, { id: 'dead' });
    await producer.publish('jobs', 'slow', { id: 'running' });
    await eventually(async () => expect(await admin.get('jobs', 'dead')).toMatchObject({ state: 'dead' }));
    await jobs.called(2);

    for (const [topic, id, state] of [
      ['jobs', 'dead', 'dead'],
      ['jobs', 'running', 'in-flight'],
      ['jobs', 'nobody', 'not-found'],
      ['unknown', 'a', 'not-found'],
    ] as const) {
      expect(await admin.edit(topic, id, 2)).toBe(state);
      expect(await admin.runNow(topic, id)).toBe(state);
      expect(await admin.reschedule(topic, id, { delay: 0 })).toBe(state);
    }
    gate.open();
    expect(await admin.topics()).toEqual(['jobs']);
  });

  it('refuses a payload that cannot be stored', async () => {
    const { producer, admin } = await start();
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    await expect(admin.edit('jobs', 'a', undefined)).rejects.toThrow(SerializationError);
    await expect(admin.edit('jobs', 'a', 'x'.repeat(1_048_577))).rejects.toThrow(PayloadTooLargeError);
    await expect(admin.edit('jobs', '', 1)).rejects.toThrow(InvalidArgumentError);
    expect(await admin.get('jobs', 'a')).toMatchObject({ payload: 1 });
  });
});

describe('an admin changes a topic and', () => {
  it('refuses a topic that was never used, and does not create it', async () => {
    const { admin } = await start({ consumer: false });
    for (const act of [
      () => admin.pause('unknown'),
      () => admin.hold('unknown', '1m'),
      () => admin.resume('unknown'),
      () => admin.drain('unknown'),
      () => admin.purge('unknown'),
      () => admin.requeue('unknown', { all: true }),
      () => admin.remove('unknown', { key: 'k' }, { dryRun: true }),
    ]) {
      await expect(act()).rejects.toThrow(/no topic 'unknown' under this prefix/);
      await expect(act()).rejects.toThrow(InvalidArgumentError);
    }
    expect(await admin.topics()).toEqual([]);
    expect(await bed.keys()).toEqual([]);
  });

  it('refuses a topic of another protocol version', async () => {
    const { admin, producer } = await start({ consumer: false });
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    await bed.redis.hset(`{${bed.prefix}:jobs}:config`, 'protocol', 99);
    await expect(admin.pause('jobs')).rejects.toThrow(ConfigurationError);
    await expect(admin.drain('jobs')).rejects.toThrow(ConfigurationError);
    await expect(admin.cancel('jobs', 'a')).rejects.toThrow(ConfigurationError);
    for (const which of ['a', { id: 'a', key: 'k' }, { all: true }, { key: 'k' }] as const) {
      await expect(admin.requeue('jobs', which)).rejects.toThrow(ConfigurationError);
      await expect(admin.remove('jobs', which)).rejects.toThrow(ConfigurationError);
      await expect(admin.remove('jobs', which, { dryRun: true })).rejects.toThrow(ConfigurationError);
    }
    expect(await admin.get('jobs', 'a')).toMatchObject({ state: 'scheduled' });
  });

  it.each([{ dryrun: true }, { dryRun: 'yes' }, { signal: 5 }, 7])('refuses wrong options: %j', async (options) => {
    const { admin, producer } = await start({ consumer: false });
    await producer.publish('jobs', 1, { delay: '1h' });
    await expect(admin.drain('jobs', options as object)).rejects.toThrow(InvalidArgumentError);
    await expect(admin.purge('jobs', options as object)).rejects.toThrow(InvalidArgumentError);
    expect(await admin.stats('jobs')).toMatchObject({ scheduled: 1 });
  });

  it('pauses it beyond a restart of the application', async () => {
    const first = await bed.start({ providers: [Jobs] });
    const admin = first.get(DelayQueueAdmin);
    await admin.pause('jobs');
    await first.close();

    const { producer, jobs, admin: again } = await start();
    await producer.publish('jobs', 1, { id: 'a' });
    expect(await again.stats('jobs')).toMatchObject({ paused: true });
    expect(jobs.calls).toEqual([]);
    await again.resume('jobs');
    await jobs.called();
  });
});
