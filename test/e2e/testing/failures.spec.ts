import {
  BrokerUnavailableError,
  DelayQueueModule,
  DelayQueueProducer,
  DuplicateMessageError,
  InvalidArgumentError,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { type BrokerOperation, DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { abortOf } from '../../support/waiting.js';
import { DAY, SECOND, START, boot, realDuration, start, useKitBed } from '../../support/kit/kit-bed.js';
import { Jobs } from '../../support/kit/jobs.js';

useKitBed();

describe('while the broker is disconnected', () => {
  it('a publish is rejected after its timeout, which passes on the clock', async () => {
    const { harness, producer, elapsed } = await start({ options: { publishTimeout: '3s', topics: { jobs: {} } } });
    harness.disconnect();
    let rejectedAt: number | undefined;
    const publishing = producer.publish('jobs', 1).catch((error: unknown) => {
      rejectedAt = elapsed();
      return error;
    });

    await harness.advance(2999);
    expect(rejectedAt).toBeUndefined();
    await harness.advance(1);

    expect(rejectedAt).toBe(3 * SECOND);
    expect(await publishing).toBeInstanceOf(BrokerUnavailableError);
    harness.reconnect();
    await harness.advance('1d');
    expect(harness.published('jobs')).toEqual([]);
  });

  it('a publish gets through once it is connected again', async () => {
    const { harness, producer, jobs } = await start();
    harness.disconnect();
    const publishing = producer.publish('jobs', 1, { id: 'a' });
    await harness.advance('2s');
    expect(harness.published('jobs')).toEqual([]);

    harness.reconnect();
    await harness.advance(250);

    expect(await publishing).toMatchObject({ id: 'a' });
    expect(jobs.ids).toEqual(['a']);
  });

  it('nothing is delivered, and afterwards all that has fallen due is', async () => {
    const { harness, producer, jobs } = await start();
    for (const delay of ['1h', '2h', '3h', '9h']) await producer.publish('jobs', delay, { delay });
    harness.disconnect();
    await harness.advance('4h');
    expect(jobs.calls).toEqual([]);

    harness.reconnect();
    await harness.advance(250);

    expect(new Set(jobs.calls.map(({ payload }) => payload))).toEqual(new Set(['1h', '2h', '3h']));
    await harness.advance('5h');
    expect(jobs.calls).toHaveLength(4);
  });

  it('outcomes are kept, and sent afterwards', async () => {
    const { harness, producer, jobs, admin, tape } = await start();
    const acked = tape('acked');
    jobs.respond = () => harness.disconnect();
    await producer.publish('jobs', 1);
    await harness.advance('10s');
    expect(jobs.calls).toHaveLength(1);
    expect(acked).toEqual([]);

    harness.reconnect();
    await harness.advance(250);

    expect(acked).toHaveLength(1);
    expect(await admin.stats('jobs')).toMatchObject({ inFlight: 0, scheduled: 0 });
    await harness.advance('1d');
    expect(jobs.calls).toHaveLength(1);
  });

  it('a handler loses its lease when that is over', async () => {
    const { harness, producer, jobs, elapsed } = await start({ patience: 20, options: { consumer: { lease: '30s' } } });
    const reasons: unknown[] = [];
    jobs.respond = async (_payload, { signal }) => {
      reasons.push(await abortOf(signal), elapsed());
      throw new Error('the lease is lost');
    };
    await producer.publish('jobs', 1);
    await harness.settle();
    harness.disconnect();

    await harness.advance('29s');
    expect(reasons).toEqual([]);
    await harness.advance('1s');

    expect(reasons).toMatchObject([{ code: 'LEASE_LOST' }, 30 * SECOND]);
    harness.reconnect();
    await harness.advance('2m');
    expect(jobs.calls.map(({ message }) => message.attempt)).toEqual([1, 2]);
  });

  it('a month passes at once, as ever', async () => {
    const { harness, producer, jobs, elapsed } = await start();
    await producer.publishMany(
      'jobs',
      Array.from({ length: 100 }, (_, i) => ({ payload: i, options: { delay: '1d' } })),
    );
    harness.disconnect();

    // Nothing waits in real time; only a busy host takes as long.
    expect(await realDuration(harness.advance('30d'))).toBeLessThan(10_000);

    expect(elapsed()).toBe(30 * DAY);
    harness.reconnect();
    await harness.advance(250);
    expect(jobs.calls).toHaveLength(100);
  });

  it('no application boots', async () => {
    const { harness } = await start();
    harness.disconnect();
    await harness.advance('1h');

    const booting = boot({ imports: [DelayQueueModule.forRoot()] }, harness);
    await expect(booting).rejects.toThrow(BrokerUnavailableError);
  });

  it('being disconnected twice, or connected twice, is nothing special', async () => {
    const { harness, producer, jobs } = await start();
    harness.reconnect();
    harness.disconnect();
    harness.disconnect();
    harness.reconnect();
    harness.reconnect();
    await producer.publish('jobs', 1);
    await harness.settle();
    expect(jobs.calls).toHaveLength(1);
  });
});

describe('failNext', () => {
  it('lets a publish fail once, and its repeat succeed', async () => {
    const { harness, producer, jobs } = await start();
    harness.failNext('publish');
    const publishing = producer.publish('jobs', 1);
    await harness.settle();
    expect(harness.published('jobs')).toEqual([]);

    await harness.advance(25);

    expect(await publishing).toMatchObject({ duplicate: false });
    expect(jobs.calls).toHaveLength(1);
  });

  it('does not make a publish whose reply is lost a duplicate', async () => {
    const { harness, producer, jobs } = await start();
    harness.failNext('publish', { lostReply: true, times: 3 });
    const publishing = producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    await harness.settle();
    expect(harness.scheduled('jobs')).toMatchObject([{ id: 'a' }]);

    await harness.advance('1s');

    expect(await publishing).toMatchObject({ id: 'a', duplicate: false });
    expect(harness.published('jobs')).toMatchObject([{ id: 'a' }]);
    await expect(producer.publish('jobs', 2, { id: 'a' })).rejects.toThrow(DuplicateMessageError);
    await harness.advance('1h');
    expect(jobs.ids).toEqual(['a']);
  });

  it('rejects a publish with the error of the test if that is permanent', async () => {
    const { harness, producer } = await start();
    const error = new BrokerUnavailableError('OOM command not allowed', { transient: false });
    harness.failNext('publish', { error });

    await expect(producer.publish('jobs', 1)).rejects.toBe(error);

    await producer.publish('jobs', 2);
    expect(harness.published('jobs')).toMatchObject([{ payload: 2 }]);
  });

  it.each([
    { operation: 'claim', lostReply: false },
    { operation: 'claim', lostReply: true },
    { operation: 'settle', lostReply: false },
    { operation: 'settle', lostReply: true },
  ] as const)('has a message handled once where $operation fails (lost reply: $lostReply)', async (fault) => {
    const { harness, producer, jobs, admin, tape } = await start();
    const [acked, stale] = [tape('acked'), tape('stale')];
    await producer.publish('jobs', 1, { delay: '1m' });
    harness.failNext(fault.operation, { times: 4, lostReply: fault.lostReply });

    await harness.advance('1d');

    expect(jobs.calls.map(({ message }) => message.attempt)).toEqual([1]);
    expect([acked.length, stale.length]).toEqual([1, 0]);
    expect(await admin.stats('jobs')).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
  });

  it('costs a handler its lease if no renewal gets through', async () => {
    const { harness, producer, jobs } = await start({ patience: 20 });
    const reasons: unknown[] = [];
    jobs.respond = async (_payload, { signal }) => void reasons.push(await abortOf(signal));
    harness.failNext('extend', { times: 3 });
    await producer.publish('jobs', 1);

    await harness.advance('30s');

    expect(reasons).toMatchObject([{ code: 'LEASE_LOST' }]);
  });

  it('fails so many calls, one failNext after another', async () => {
    const { harness, producer, elapsed } = await start();
    harness.failNext('publish', { times: 2 });
    harness.failNext('publish', { error: new BrokerUnavailableError('the third', { transient: false }) });
    const publishing = producer.publish('jobs', 1).catch((error: Error) => [error.message, elapsed()]);

    await harness.advance('1s');

    // Pauses of 25 and 50 ms.
    expect(await publishing).toEqual(['the third', 75]);
  });

  it('leaves other operations alone', async () => {
    const { harness, producer, jobs } = await start();
    harness.failNext('cancel');
    await producer.publish('jobs', 1);
    await harness.settle();
    expect(jobs.calls).toHaveLength(1);
  });

  it.each<[string, object, RegExp]>([
    ['publisch', {}, /operation must be one of .*'connect', .*'publish'/],
    ['publish', { times: 0 }, /times must be/],
    ['publish', { error: 'no' }, /error must be an Error/],
    ['publish', { lost: true }, /no option 'lost'/],
  ])('refuses %s with %o', async (operation, options, message) => {
    const { harness } = await start();
    const failing = (): void => harness.failNext(operation as BrokerOperation, options);
    expect(failing).toThrow(InvalidArgumentError);
    expect(failing).toThrow(message);
  });
});

it('setReplicas() takes a number of replicas, and until it is called as many confirm as are asked for', async () => {
  const { harness, producer } = await start({ options: { replicas: { min: 2, timeout: '1s' } } });
  await producer.publish('jobs', 1);
  harness.setReplicas(2);
  await producer.publish('jobs', 2);

  expect(harness.published('jobs')).toHaveLength(2);
  expect(() => harness.setReplicas(-1)).toThrow(InvalidArgumentError);
});

describe('an application', () => {
  it.each(['heartbeat', 'configure', 'acquire', 'claim'] as const)(
    'comes to work though the first %s fails',
    async (operation) => {
      const harness = new DelayQueueHarness({ now: START });
      harness.failNext(operation);
      const { module } = await boot({ imports: [DelayQueueModule.forRoot()], providers: [Jobs] }, harness);
      await module.get(DelayQueueProducer).publish('jobs', 1);

      await harness.advance('1s');

      expect(module.get(Jobs).calls).toHaveLength(1);
    },
  );

  it.each(['connect', 'configure'] as const)('does not boot where the first %s fails', async (operation) => {
    const harness = new DelayQueueHarness();
    const error = new BrokerUnavailableError('refused', { transient: false });
    harness.failNext(operation, { error });
    await expect(boot({ imports: [DelayQueueModule.forRoot()], providers: [Jobs] }, harness)).rejects.toBe(error);
  });

  it.each(['release', 'leave'] as const)('closes though %s fails', async (operation) => {
    const { app, harness, logs } = await start();
    harness.failNext(operation);
    await app.close();
    expect(logs.warnings.join()).toContain(`this call of '${operation}'`);
  });

  it.each(['locate', 'stats', 'get'] as const)('waits for an answer where %s fails', async (operation) => {
    const { harness, producer, admin } = await start();
    await producer.publish('jobs', 1, { id: 'a', key: 'k', delay: '1h' });
    harness.failNext(operation);
    const answers = {
      locate: () => producer.cancel('jobs', 'a'),
      stats: async () => (await admin.stats('jobs')).scheduled,
      get: async () => (await admin.get('jobs', { id: 'a', key: 'k' }))?.state,
    };
    const answering = answers[operation]();

    await harness.advance('1s');

    expect(await answering).toBe({ locate: 'cancelled', stats: 1, get: 'scheduled' }[operation]);
  });

  it('trims dead letters at the next death if the first time fails', async () => {
    const { harness, producer, jobs } = await start({
      options: { defaults: { partitions: 1, deadLetter: { maxCount: 0 } } },
    });
    jobs.respond = () => {
      throw new UnrecoverableError('no');
    };
    harness.failNext('trimDead');
    await producer.publish('jobs', 1);
    await harness.settle();
    expect(harness.deadLetters('jobs')).toHaveLength(1);

    await producer.publish('jobs', 2);
    await harness.settle();

    expect(harness.deadLetters('jobs')).toEqual([]);
  });
});
