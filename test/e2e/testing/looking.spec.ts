import { UnrecoverableError, topic } from 'nestjs-delay-queue';
import type { DeadLetter, HarnessDeadLetter, RecordedMessage, WaitingMessage } from 'nestjs-delay-queue/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { Gate } from '../../support/waiting.js';
import { TypedJson } from '../../support/typed-json.js';
import { MINUTE, START, start, useKitBed } from '../../support/kit/kit-bed.js';

interface Job {
  readonly orderId: string;
}

const jobsTopic = topic<Job>('jobs');

useKitBed();

describe('published', () => {
  it('has every message in order, over all partitions, with all it was published with', async () => {
    const { harness, producer } = await start();
    await producer.publish(
      jobsTopic,
      { orderId: '42' },
      {
        id: 'a',
        key: 'customer-7',
        delay: '30m',
        attempts: 7,
        backoff: { type: 'fixed', delay: '10s' },
        timeout: '5s',
        expireAfter: '1d',
        headers: { trace: 'x' },
      },
    );
    await harness.advance('1m');
    for (const id of ['b', 'c', 'd', 'e']) await producer.publish(jobsTopic, { orderId: id }, { id });

    const [first, second, ...others] = harness.published(jobsTopic);
    expect(first).toEqual({
      id: 'a',
      key: 'customer-7',
      topic: 'jobs',
      partition: expect.any(Number) as number,
      payload: { orderId: '42' },
      headers: { trace: 'x' },
      publishedAt: START,
      dueAt: new Date(START.getTime() + 30 * MINUTE),
      delay: 30 * MINUTE,
      settings: {
        attempts: 7,
        backoff: { delay: 10_000, factor: 1, maxDelay: 10_000, jitter: 0 },
        timeout: 5000,
        expireAfter: 24 * 60 * MINUTE,
      },
    });
    expect(second).toEqual({
      id: 'b',
      key: 'b',
      topic: 'jobs',
      partition: expect.any(Number) as number,
      payload: { orderId: 'b' },
      headers: {},
      publishedAt: new Date(START.getTime() + MINUTE),
      dueAt: new Date(START.getTime() + MINUTE),
      delay: 0,
      settings: { attempts: undefined, backoff: undefined, timeout: undefined, expireAfter: undefined },
    });
    expect(others.map(({ id }) => id)).toEqual(['c', 'd', 'e']);
  });

  it('has the payload as JSON makes it', async () => {
    const { harness, producer } = await start();
    await producer.publish('jobs', { at: START, nothing: undefined }, { delay: '1h' });

    expect(harness.published('jobs')[0]?.payload).toStrictEqual({ at: '2026-01-01T00:00:00.000Z' });
  });

  it('keeps what was handled, and knows nothing of other topics', async () => {
    const { harness, producer, jobs } = await start();
    await producer.publish('jobs', 1);
    await producer.publish('other', 2);
    await harness.settle();

    expect(jobs.calls).toHaveLength(1);
    expect(harness.published('jobs')).toMatchObject([{ payload: 1 }]);
    expect(harness.published('never.used')).toEqual([]);
  });

  it('has what replaced a message, and not what was refused or ignored', async () => {
    const { harness, producer } = await start();
    const options = { id: 'a', delay: '1h' };
    await producer.publish('jobs', 1, options);
    await expect(producer.publish('jobs', 2, options)).rejects.toThrow('already holds');
    await producer.publish('jobs', 3, { ...options, onDuplicate: 'ignore' });
    await producer.publish('jobs', 3, { id: 'a', delay: '30m', onDuplicate: 'earliest' });
    await producer.publish('jobs', 4, { id: 'a', delay: '2h', onDuplicate: 'replace' });

    expect(harness.published('jobs').map(({ payload, delay }) => [payload, delay])).toEqual([
      [1, 60 * MINUTE],
      [4, 120 * MINUTE],
    ]);
  });

  it('is due now if it was to be delivered in the past, with no negative delay', async () => {
    const { harness, producer } = await start();
    await producer.publish('jobs', 1, { deliverAt: new Date('2025-12-31T00:00:00Z') });

    expect(harness.published('jobs')).toMatchObject([{ dueAt: harness.now, delay: 0 }]);
  });
});

describe('scheduled', () => {
  it('has what waits, in order of due time, and not what was cancelled, runs or is gone', async () => {
    const { harness, producer, jobs } = await start({ patience: 10 });
    const gate = new Gate();
    jobs.respond = (payload) => (payload === 'runs' ? gate.opened : undefined);
    for (const [id, delay] of [
      ['late', '3h'],
      ['gone', '1m'],
      ['runs', '2m'],
      ['early', '1h'],
      ['cancelled', '2h'],
    ] as const) {
      await producer.publish('jobs', id, { id, delay });
    }
    await producer.cancel('jobs', 'cancelled');
    await harness.advance('5m');

    expect(harness.scheduled('jobs')).toMatchObject([
      { id: 'early', dueAt: new Date('2026-01-01T01:00:00Z'), attempts: 0, failure: undefined },
      { id: 'late', dueAt: new Date('2026-01-01T03:00:00Z') },
    ]);
    gate.open();
  });

  it('has a message that waits for its retry, with what went wrong', async () => {
    const { harness, producer, jobs } = await start();
    jobs.respond = () => {
      throw new Error('card declined');
    };
    await producer.publish('jobs', 1, { id: 'a' });
    await harness.settle();

    expect(harness.scheduled('jobs')).toMatchObject([
      { id: 'a', dueAt: new Date('2026-01-01T00:01:00Z'), attempts: 1, failure: { message: 'card declined' } },
    ]);
  });
});

describe('deadLetters', () => {
  it('has what died, in order, with payload, attempts and failure', async () => {
    const { harness, producer, jobs } = await start();
    jobs.respond = (payload) => {
      throw payload === 'hopeless' ? new UnrecoverableError('no such order') : new Error('card declined');
    };
    await producer.publish('jobs', 'unlucky', { id: 'a' });
    await producer.publish('jobs', 'hopeless', { id: 'b', key: 'k', delay: '90s' });
    await harness.advance('1h');

    expect(harness.deadLetters('jobs')).toMatchObject([
      {
        id: 'b',
        key: 'k',
        topic: 'jobs',
        payload: 'hopeless',
        diedAt: new Date('2026-01-01T00:01:30Z'),
        attempts: 1,
        failure: { reason: 'unrecoverable', message: 'no such order' },
      },
      {
        id: 'a',
        payload: 'unlucky',
        diedAt: new Date('2026-01-01T00:02:00Z'),
        attempts: 3,
        failure: { reason: 'failed', message: 'card declined' },
      },
    ]);
    expect(harness.scheduled('jobs')).toEqual([]);
  });
});

describe('clear', () => {
  it('forgets what was published, what waits and what is dead', async () => {
    const { harness, producer, jobs, admin } = await start();
    jobs.respond = () => {
      throw new UnrecoverableError('no');
    };
    await producer.publish('jobs', 1, { id: 'dead' });
    await producer.publish('jobs', 2, { id: 'waits', delay: '1h' });
    await producer.publish('other', 3, { delay: '1h' });
    await harness.settle();

    await harness.clear();

    expect([harness.published('jobs'), harness.scheduled('jobs'), harness.deadLetters('jobs')]).toEqual([[], [], []]);
    expect([harness.published('other'), harness.scheduled('other')]).toEqual([[], []]);
    expect(await admin.stats('jobs')).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
    await harness.advance('1d');
    expect(jobs.calls).toHaveLength(1);
    await producer.publish('jobs', 4, { id: 'waits' });
    expect(harness.published('jobs')).toMatchObject([{ id: 'waits', payload: 4 }]);
  });
});

describe('the types', () => {
  it('follow the topic', async () => {
    const { harness } = await start();
    expectTypeOf(harness.published(jobsTopic)).toEqualTypeOf<RecordedMessage<Job>[]>();
    expectTypeOf(harness.scheduled(jobsTopic)).toEqualTypeOf<WaitingMessage<Job>[]>();
    expectTypeOf(harness.deadLetters(jobsTopic)).toEqualTypeOf<HarnessDeadLetter<Job>[]>();
    expectTypeOf<DeadLetter<Job>>().toEqualTypeOf<HarnessDeadLetter<Job>>();
    expectTypeOf(harness.published('jobs')).toEqualTypeOf<RecordedMessage[]>();
  });

  it.each(['published', 'scheduled', 'deadLetters'] as const)(
    'of %s: a topic that is none is refused',
    async (look) => {
      const { harness } = await start();
      expect(() => harness[look]('no topic')).toThrow('A topic must be');
    },
  );
});

describe('a serializer', () => {
  it('serves whatever the harness shows', async () => {
    const options = { serializer: new TypedJson(), defaults: { attempts: 1 } };
    const { harness, producer, jobs } = await start({ options });
    jobs.respond = () => {
      throw new UnrecoverableError('no');
    };
    const payload = { at: new Date(5), amounts: new Map([['EUR', 10n]]) };
    await producer.publish('jobs', payload, { delay: '1h' });

    expect(harness.published('jobs')).toMatchObject([{ payload }]);
    expect(harness.scheduled('jobs')).toMatchObject([{ payload }]);
    await harness.advance('1h');
    expect(jobs.calls).toMatchObject([{ payload }]);
    expect(harness.deadLetters('jobs')).toMatchObject([{ payload }]);
  });
});
