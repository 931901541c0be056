import { describe, expect, it } from 'vitest';
import { DelayQueueAdmin, type TopicOptions } from 'nestjs-delay-queue';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { MINUTE, START, start as startKit, useKitBed } from '../support/kit/kit-bed.js';

async function start(settings: TopicOptions = {}) {
  const bed = await startKit({ options: { topics: { jobs: { partitions: 1, ...settings } } } });
  return { ...bed, died: bed.tape('dead') };
}

describe('a dead letter', () => {
  useKitBed();

  it('keeps payload, headers, the number of attempts, and the last error with its stack', async () => {
    const { harness, producer, admin, jobs, died } = await start();
    jobs.respond = (_, { attempt }) => {
      throw Object.assign(new RangeError(`failed ${attempt} times`), { code: 'E_BALANCE' });
    };
    const payload = { amount: 5, note: 'ü' };
    await producer.publish('jobs', payload, { id: 'a', headers: { trace: 'abc' } });
    await harness.advance('1h');

    const failure = { reason: 'failed', name: 'RangeError', message: 'failed 3 times', code: 'E_BALANCE' };
    expect(died).toMatchObject([{ topic: 'jobs', partition: 0, id: 'a', key: 'a', attempt: 3, failure }]);
    expect(died[0]?.failure.stack).toContain('dead-letters.spec.ts');
    expect(await admin.get('jobs', 'a')).toMatchObject({
      state: 'dead',
      at: new Date(START.getTime() + 2 * MINUTE),
      payload,
      headers: { trace: 'abc' },
      deliveries: 3,
      attempts: 3,
      failure: died[0]?.failure,
    });
    expect(await admin.stats('jobs')).toMatchObject({ scheduled: 0, inFlight: 0, dead: 1 });
  });

  it('is kept within the limits of number and age', async () => {
    const { harness, producer, jobs } = await start({ deadLetter: { maxCount: 2, maxAge: '1h' } });
    jobs.respond = () => {
      throw new Error('down');
    };
    for (const id of ['a', 'b', 'c', 'd']) {
      await producer.publish('jobs', 1, { id, attempts: 1 });
      await harness.settle();
    }
    await harness.advance('59m');
    expect(harness.deadLetters('jobs').map(({ id }) => id)).toEqual(['c', 'd']);
    await harness.advance('2m');
    expect(harness.deadLetters('jobs')).toEqual([]);
  });

  it('may come of whatever a handler throws', async () => {
    const unreadable = Object.defineProperty(new Error('hidden'), 'message', {
      get: () => {
        throw new Error('not to be read');
      },
    });
    const thrown: readonly unknown[] = ['no money', undefined, null, { status: 402 }, Symbol('no'), unreadable];
    const { harness, producer, jobs, died, tape } = await start();
    const retried = tape('retried');
    jobs.respond = (place) => {
      throw thrown[Number(place)];
    };
    for (const place of thrown.keys()) {
      await producer.publish('jobs', place, { attempts: 2 });
      await harness.advance('1m');
    }

    expect(retried.map(({ error }) => error)).toEqual(thrown);
    expect(died.map(({ failure }) => failure)).toEqual([
      { reason: 'failed', name: 'string', message: "'no money'" },
      { reason: 'failed', name: 'undefined', message: 'undefined' },
      { reason: 'failed', name: 'object', message: 'null' },
      { reason: 'failed', name: 'object', message: '{ status: 402 }' },
      { reason: 'failed', name: 'symbol', message: 'Symbol(no)' },
      expect.objectContaining({ reason: 'failed' }),
    ]);
  });

  it('is made of a message that is too late, whose handler is not called', async () => {
    const { harness, producer, admin, jobs, died } = await start();
    await producer.publish('jobs', 1, { id: 'in time' });
    await harness.settle();
    await admin.pause('jobs');
    await producer.publish('jobs', 2, { id: 'late', expireAfter: '30m' });
    await harness.advance('1h');
    await admin.resume('jobs');
    await harness.settle();

    expect(died).toMatchObject([{ id: 'late', failure: { reason: 'expired' } }]);
    expect(died[0]?.failure.message).toMatch(/30 minutes.* 3600000 ms/);
    expect(jobs.ids).toEqual(['in time']);
    const stored = { state: 'dead', payload: 2, deliveries: 1, attempts: 0 };
    expect(await admin.get('jobs', 'late')).toMatchObject(stored);
  });
});

describe('on Redis, a message', () => {
  const bed = useBed();

  async function startJobs() {
    const defaults = { partitions: 1, backoff: { type: 'fixed', delay: 5 } } as const;
    const app = await bed.start({ providers: [Jobs], options: { defaults } });
    const { producer, events, logs } = app;
    const admin = app.get(DelayQueueAdmin);
    // What is published is not delivered before the test has written what it wants to.
    await admin.pause('jobs');
    return { producer, events, logs, admin, jobs: app.get(Jobs), partition: bed.partition('jobs') };
  }

  it('whose last attempt ended with its process is dead with its previous error, and spends no more attempts', async () => {
    const { producer, events, admin, jobs, partition } = await startJobs();
    const { dueAt } = await producer.publish('jobs', 1, { id: 'a', attempts: 2 });
    const before = { reason: 'failed', name: 'Error', message: 'down' };
    await bed.redis.hset(partition.key('deliveries'), 'a', `0 2 2 ${dueAt.getTime()}`);
    await bed.redis.hset(partition.key('errors'), 'a', JSON.stringify(before));
    await admin.resume('jobs');

    const { failure } = await events.dead.first();
    expect(failure).toMatchObject({ reason: 'crashed', lastError: before });
    expect(failure.message).toContain('Attempt 2 was the last');
    expect(jobs.calls).toEqual([]);
    expect(await partition.spent('a')).toEqual({ deliveries: 3, attempts: 2 });
  });

  it('that cannot be read or is not stored blocks no other; of one that is acknowledged, nothing is left', async () => {
    const { producer, events, admin, jobs, partition, logs } = await startJobs();
    jobs.respond = (_, { attempt }) => {
      if (attempt === 1) throw new Error('down');
    };
    for (const id of ['bad', 'lost', 'good']) await producer.publish('jobs', 1, { id });
    await bed.redis.hset(partition.key('messages'), 'bad', 'garbage{');
    await bed.redis.hdel(partition.key('messages'), 'lost');
    await admin.resume('jobs');

    expect(await events.dead.first()).toMatchObject({ id: 'bad', failure: { reason: 'undecodable' } });
    expect(await events.acked.first()).toMatchObject({ id: 'good', attempt: 2 });
    expect(jobs.ids).toEqual(['good', 'good']);
    expect(await partition.dead()).toEqual(['bad']);
    expect(await partition.envelope('bad')).toBe('garbage{');
    expect(await partition.failure('bad')).toMatchObject({ reason: 'undecodable', name: expect.any(String) });
    expect(await partition.spent('bad')).toEqual({ deliveries: 1, attempts: 0 });
    for (const name of ['messages', 'errors', 'deliveries']) {
      expect(await bed.redis.hkeys(partition.key(name))).toEqual(['bad']);
    }
    expect([await partition.scheduled(), await partition.inFlight()]).toEqual([[], []]);
    expect(await bed.redis.hget(partition.key('meta'), 'repaired')).toBe('1');
    expect(logs.warnings.join()).toContain("'jobs'");
  });
});
