import { describe, expect, it } from 'vitest';
import type { BulkProgress } from '../../../lib/admin/bulk-options.js';
import { DelayQueueAdmin } from '../../../lib/admin/delay-queue.admin.js';
import { NO_TOKEN } from '../../../lib/store/deliveries/receipt.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { ConfigurationError, InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { partitionOf } from '../../../lib/messages/partitioner.js';
import { toStoredId } from '../../../lib/messages/stored-id.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { message } from '../../support/broker/broker-bed.js';
import { testAdmin } from '../../support/units/admin.js';

const PARTITIONS = 8;

async function open(protocol?: number) {
  const clock = new ManualClock();
  const broker = new EmbeddedBroker(clock);
  await broker.fleet.configure('orders', PARTITIONS);
  if (protocol !== undefined) broker.fleet.configOf = async () => ({ partitions: PARTITIONS, protocol });
  const written: string[] = [];
  const clear = broker.messages.clear.bind(broker.messages);
  broker.messages.clear = async (...args) => {
    written.push('clear');
    return clear(...args);
  };
  const requeueDead = broker.deadLetters.requeueDead.bind(broker.deadLetters);
  broker.deadLetters.requeueDead = async (...args) => {
    written.push('requeue');
    return requeueDead(...args);
  };
  const removeDead = broker.deadLetters.removeDead.bind(broker.deadLetters);
  broker.deadLetters.removeDead = async (...args) => {
    written.push('remove');
    return removeDead(...args);
  };
  let sequence = 0;
  return {
    broker,
    clock,
    written,
    admin: testAdmin(broker, clock),
    publish: async (id: string, key = id) => {
      const partition = { topic: 'orders', index: partitionOf(key, PARTITIONS) };
      const stored = message(toStoredId(id, key), { due: { at: 1_000_000_000 }, envelope: '[1,1]' });
      await broker.messages.publish(partition, { caller: 'test', sequence: ++sequence }, [stored]);
      return partition;
    },
  };
}

const ALL: [string, (admin: DelayQueueAdmin, topic: string, dryRun: boolean) => Promise<unknown>][] = [
  ['drain', (admin, topic, dryRun) => admin.drain(topic, { dryRun })],
  ['purge', (admin, topic, dryRun) => admin.purge(topic, { dryRun })],
  ['requeue', (admin, topic, dryRun) => admin.requeue(topic, { all: true }, { dryRun })],
  ['remove', (admin, topic, dryRun) => admin.remove(topic, { all: true }, { dryRun })],
];

describe.each(ALL)('%s', (_name, act) => {
  it.each([false, true])('refuses a topic of another protocol, with dryRun %s', async (dryRun) => {
    const { admin, written } = await open(99);
    await expect(act(admin, 'orders', dryRun)).rejects.toThrow(ConfigurationError);
    expect(written).toEqual([]);
  });

  it.each([false, true])('refuses a topic that was never used, with dryRun %s', async (dryRun) => {
    const { admin, written } = await open();
    await expect(act(admin, 'unknown', dryRun)).rejects.toThrow(InvalidArgumentError);
    await expect(act(admin, 'unknown', dryRun)).rejects.toThrow("There is no topic 'unknown' under this prefix");
    expect(written).toEqual([]);
  });
});

describe('requeue and remove of one dead letter', () => {
  it.each(['a', { id: 'a', key: 'k' }])('refuse a topic of another protocol: %j', async (which) => {
    const { admin, written } = await open(99);
    await expect(admin.requeue('orders', which)).rejects.toThrow(ConfigurationError);
    await expect(admin.remove('orders', which)).rejects.toThrow(ConfigurationError);
    expect(written).toEqual([]);
  });

  it('find none in a topic that was never used', async () => {
    const { admin } = await open();
    expect(await admin.requeue('unknown', 'a')).toEqual({ matched: 0, changed: 0, aborted: false });
    expect(await admin.remove('unknown', 'a')).toEqual({ matched: 0, changed: 0, aborted: false });
  });
});

describe('requeue and remove of dead letters', () => {
  it.each<[object | undefined]>([
    [{}],
    [{ fingerprint: undefined }],
    [{ reason: undefined, key: undefined, since: undefined }],
    [undefined],
    [{ all: undefined }],
    [{ all: false }],
    [{ all: true, reason: 'failed' }],
  ])('refuse what does not say which are meant, and touch none: %o', async (which) => {
    const { admin, broker, publish, written } = await open();
    const partition = await publish('a');
    const failure = { reason: 'failed', name: 'Error', message: 'no' } as const;
    await broker.deliveries.setAside(partition, { storedId: 'a', token: NO_TOKEN }, failure);
    for (const options of [{}, { dryRun: true }]) {
      await expect(admin.requeue('orders', which as object, options)).rejects.toThrow(InvalidArgumentError);
      await expect(admin.remove('orders', which as object, options)).rejects.toThrow(InvalidArgumentError);
    }
    expect(written).toEqual([]);
    expect(await admin.stats('orders')).toMatchObject({ dead: 1 });
  });

  it.each([
    ['NO STOCK', 1],
    ['e_stock', 1],
    ['OutOfStock', 1],
    // Not their ids.
    ['a1', 0],
  ])('mean those with a text in their error: %s', async (text, matched) => {
    const { admin, broker, publish } = await open();
    const failures = {
      a1: { reason: 'failed', name: 'OutOfStock', message: 'No stock for 42', code: 'E_STOCK' },
      a2: { reason: 'failed', name: 'Boom', message: 'Gone' },
    } as const;
    for (const [id, failure] of Object.entries(failures)) {
      await broker.deliveries.setAside(await publish(id), { storedId: id, token: NO_TOKEN }, failure);
    }
    expect(await admin.requeue('orders', { text }, { dryRun: true })).toMatchObject({ matched });
  });
});

describe('requeue of one dead letter by its name', () => {
  it('sends no record, unless it has another payload', async () => {
    const { admin, broker, publish } = await open();
    const partition = await publish('a');
    const sent: unknown[] = [];
    const requeueDead = broker.deadLetters.requeueDead.bind(broker.deadLetters);
    broker.deadLetters.requeueDead = async (of, call, deaths, delay) => {
      sent.push(...deaths);
      return requeueDead(of, call, deaths, delay);
    };
    for (const payload of [undefined, 2]) {
      await admin.runNow('orders', 'a');
      await broker.deliveries.setAside(
        partition,
        { storedId: 'a', token: NO_TOKEN },
        { reason: 'failed', name: 'Error', message: 'no' },
      );
      expect(await admin.requeue('orders', 'a', { payload, delay: '1h' })).toMatchObject({ changed: 1 });
    }
    expect(sent).toEqual([
      { storedId: 'a', diedAt: broker.now() },
      { storedId: 'a', diedAt: broker.now(), envelope: '[1,2]' },
    ]);
  });
});

describe('hold', () => {
  it('holds every partition, once however often its calls are repeated, and answers until when all of them are held', async () => {
    const { admin, broker, clock } = await open();
    const now = clock.now();
    await broker.deliveries.hold({ topic: 'orders', index: 2 }, { caller: 'test', sequence: 1 }, 90_000);
    const hold = broker.deliveries.hold.bind(broker.deliveries);
    let calls = 0;
    broker.deliveries.hold = async (...args) => {
      const until = await hold(...args);
      if (++calls === 3) throw new BrokerUnavailableError('The answer is lost.');
      return until;
    };
    const [until] = await Promise.all([admin.hold('orders', '1m'), clock.advance(10_000)]);
    const { partitions } = await admin.stats('orders');
    const heldFor = partitions.map(({ heldUntil }) => Number(heldUntil) - now);
    expect(calls).toBeGreaterThan(PARTITIONS);
    expect(heldFor).toEqual([60, 60, 90, 60, 60, 60, 60, 60].map((seconds) => seconds * 1000));
    expect(until).toEqual(new Date(now + 60_000));
    await admin.resume('orders');
    expect((await admin.stats('orders')).heldUntil).toBeUndefined();
  });

  it.each(['soon', '30M', -1, NaN, '11y', undefined])('refuses %s, and holds nothing', async (delay) => {
    const { admin } = await open();
    await expect(admin.hold('orders', delay as string)).rejects.toThrow(InvalidArgumentError);
    expect((await admin.stats('orders')).heldUntil).toBeUndefined();
  });
});

it.each(['pause', 'hold'] as const)(
  'a %s that nobody waits for any more changes nothing once the topic was resumed',
  async (name) => {
    const { admin, broker } = await open();
    const act = broker.deliveries[name].bind(broker.deliveries) as (...args: unknown[]) => Promise<unknown>;
    const late: (() => Promise<unknown>)[] = [];
    const lost = async (...args: unknown[]): Promise<never> => {
      late.push(() => act(...args));
      throw new BrokerUnavailableError('gone', { transient: false });
    };
    Object.assign(broker.deliveries, { [name]: lost });
    const doing = name === 'pause' ? admin.pause('orders') : admin.hold('orders', '1m');
    await expect(doing).rejects.toThrow('gone');
    await admin.resume('orders');
    const results = await Promise.allSettled(late.map((call) => call()));
    expect(results.map(({ status }) => status)).toEqual(Array(PARTITIONS).fill('rejected'));
    expect(await admin.stats('orders')).toMatchObject({ paused: false, heldUntil: undefined });
  },
);

describe('drain', () => {
  it('goes in steps until none is left, and counts what it found and what it removed', async () => {
    const { admin, publish, written } = await open();
    for (let i = 0; i < 250; i++) await publish(`m${i}`, i < 210 ? 'one key' : `m${i}`);
    const { examples, ...counted } = await admin.drain('orders', { dryRun: true });
    expect([counted, examples?.length]).toEqual([{ matched: 250, changed: 0, aborted: false }, 3]);
    expect(written).toEqual([]);
    expect(await admin.drain('orders')).toEqual({ matched: 250, changed: 250, aborted: false });
    expect(written.length).toBeGreaterThanOrEqual(3);
    expect(await admin.stats('orders')).toMatchObject({ scheduled: 0 });
  });

  it('does nothing if its signal is aborted already', async () => {
    const { admin, publish, written } = await open();
    await publish('a');
    expect(await admin.drain('orders', { signal: AbortSignal.abort() })).toEqual({
      matched: 0,
      changed: 0,
      aborted: true,
    });
    expect(written).toEqual([]);
  });

  it('ends after the step under way, and what it has removed stays removed', async () => {
    const { admin, broker, publish } = await open();
    for (let i = 0; i < 250; i++) await publish(`m${i}`, 'one key');
    const stop = new AbortController();
    const clear = broker.messages.clear.bind(broker.messages);
    broker.messages.clear = async (...args) => {
      stop.abort();
      return clear(...args);
    };
    expect(await admin.drain('orders', { signal: stop.signal })).toEqual({ matched: 250, changed: 100, aborted: true });
    expect(await admin.drain('orders')).toEqual({ matched: 150, changed: 150, aborted: false });
  });
});

describe('progress', () => {
  it('is told after each step, of a dry run too', async () => {
    const { admin, publish } = await open();
    for (let i = 0; i < 250; i++) await publish(`m${i}`, 'one key');
    const told: BulkProgress[] = [];
    const onProgress = (progress: BulkProgress): void => void told.push(progress);
    await admin.drain('orders', { dryRun: true, onProgress });
    expect(told.splice(0)).toEqual([{ matched: 250, changed: 0 }]);
    await admin.drain('orders', { onProgress });
    expect(told).toEqual([100, 200, 250].map((changed) => ({ matched: 250, changed })));
  });
});

describe.each(ALL.map(([name]) => name as 'drain' | 'purge' | 'requeue' | 'remove'))('%s refuses', (name) => {
  const isClearing = name === 'drain' || name === 'purge';
  const refused: [string, object, RegExp][] = [
    ['what is no function', { onProgress: 'log' }, /onProgress must be a function\. Given: 'log'/],
    ['an option that it does not have', { inFlight: true }, /There is no option 'inFlight'/],
  ];
  if (isClearing) refused.push(['a rate', { rate: 5 }, /There is no option 'rate'/]);
  if (name === 'requeue') refused.push(['a delay of 11 years', { delay: 11 * 366 * 86_400_000 }, /delay/]);

  it.each(refused)('%s', async (_what, options, words) => {
    const { admin } = await open();
    const call = isClearing ? admin[name]('orders', options) : admin[name]('orders', { all: true }, options);
    await expect(call).rejects.toThrow(words);
  });
});

describe('get', () => {
  it('finds the other message of an id, if the first of them goes while it looks', async () => {
    const { admin, broker, publish } = await open();
    const keys = ['k0', 'k1', 'k2', 'k3', 'k4'];
    for (const key of keys) await publish('a', key);
    const get = broker.messages.get.bind(broker.messages);
    const gone: string[] = [];
    broker.messages.get = async (partition, storedId) => {
      if (storedId.includes('\0') && gone.length < keys.length - 1) {
        gone.push(storedId);
        await broker.messages.cancel(partition, { caller: 'other', sequence: gone.length }, storedId);
      }
      return get(partition, storedId);
    };
    const found = await admin.get('orders', 'a');
    expect(gone).toHaveLength(keys.length - 1);
    expect(found?.id).toBe('a');
    expect(gone.map((storedId) => storedId.split('\0')[1])).not.toContain(found?.key);
  });
});
