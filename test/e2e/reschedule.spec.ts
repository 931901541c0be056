import { type DelayQueueProducer } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { percentile, report } from '../support/readings/statistics.js';
import { Gate, eventually } from '../support/waiting.js';

const HOUR = 3_600_000;

type When = Parameters<DelayQueueProducer['reschedule']>[2];

const bed = useBed();

async function start() {
  const app = await bed.start({
    providers: [Jobs],
    options: {
      defaults: { partitions: 1, backoff: { type: 'fixed', delay: '1h' } },
      // Nobody looks in time without a signal: what comes while a test waits has come by one.
      consumer: { maxIdleWait: '1m' },
    },
  });
  const { producer, events } = app;
  return { producer, events, jobs: app.get(Jobs), partition: bed.partition('jobs') };
}

/** Starts an application that only publishes. */
async function startPublisher() {
  const { producer } = await bed.start({ options: { consumer: false, defaults: { partitions: 1 } } });
  return producer;
}

describe('rescheduling a waiting message', () => {
  it('to an earlier time has it delivered then, once', async () => {
    const { producer, events, jobs, partition } = await start();
    const arrivals: number[] = [];
    jobs.respond = async () => arrivals.push(await bed.time());
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });

    const before = await bed.time();
    expect(await producer.reschedule('jobs', 'a', { delay: 150 })).toBe('moved');
    const after = await bed.time();

    const dueAt = (await partition.dueAt('a')) ?? NaN;
    expect(dueAt).toBeGreaterThanOrEqual(before + 150);
    expect(dueAt).toBeLessThanOrEqual(Math.ceil(after) + 150);
    await events.acked.first();
    expect(arrivals[0]).toBeGreaterThanOrEqual(dueAt);
    expect(jobs.calls.map(({ message }) => message.dueAt.getTime())).toEqual([dueAt]);
    expect(await partition.envelope('a')).toBeUndefined();
  });

  it('to a later time has it delivered then, and not at the old one', async () => {
    const { producer, jobs, partition } = await start();
    const { dueAt: old } = await producer.publish('jobs', 1, { id: 'a', delay: 400 });
    expect(await producer.reschedule('jobs', 'a', { delay: 800 })).toBe('moved');
    const moved = await partition.dueAt('a');

    // Due after the old time, in the same partition.
    await producer.publish('jobs', 2, { id: 'b', deliverAt: old.getTime() + 20 });
    const [, a] = await jobs.called(2);

    expect(jobs.ids).toEqual(['b', 'a']);
    expect(a?.message.dueAt.getTime()).toBe(moved);
    expect(moved).toBeGreaterThan(old.getTime() + 200);
  });

  it.each<{ what: string; when: When }>([
    { what: 'delay 0', when: { delay: 0 } },
    { what: "delay '0s'", when: { delay: '0s' } },
    { what: 'a Date in the past', when: { deliverAt: new Date(Date.now() - HOUR) } },
    { what: 'deliverAt 0', when: { deliverAt: 0 } },
    { what: 'a time before the epoch', when: { deliverAt: -5 } },
  ])('to the past has it delivered at once: $what', async ({ when }) => {
    const { producer, jobs } = await start();
    // Not the first message of the partition.
    await producer.publish('jobs', 'later', { delay: '1h' });
    await producer.publish('jobs', 'now', { id: 'now', delay: '2h' });
    expect(await producer.reschedule('jobs', 'now', when)).toBe('moved');
    await jobs.called();
    expect(jobs.ids).toEqual(['now']);
  });

  it.each([
    { what: 'a number', as: (time: number) => time },
    { what: 'a Date', as: (time: number) => new Date(time) },
  ])('takes deliverAt as the due time: $what', async ({ as }) => {
    const { producer, jobs } = await start();
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    const at = Math.ceil(await bed.time()) + 200;
    expect(await producer.reschedule('jobs', 'a', { deliverAt: as(at) })).toBe('moved');
    const [call] = await jobs.called();
    expect(await bed.time()).toBeGreaterThanOrEqual(at);
    expect(call?.message.dueAt).toEqual(new Date(at));
  });

  it('leaves its payload, options and id as they are', async () => {
    const { producer, events, jobs, partition } = await start();
    const payload = { orderId: '42', lines: [1, 2] };
    const options = { id: 'a', key: 'k', delay: '1h', attempts: 7, headers: { trace: 'abc' } };
    await producer.publish('jobs', payload, options);
    const envelope = await partition.envelope('a\0k');

    expect(await producer.reschedule('jobs', { id: 'a', key: 'k' }, { delay: '2h' })).toBe('moved');
    expect(await partition.envelope('a\0k')).toBe(envelope);
    expect(await producer.reschedule('jobs', { id: 'a', key: 'k' }, { delay: 0 })).toBe('moved');

    await events.acked.first();
    expect(jobs.calls).toHaveLength(1);
    const [call] = jobs.calls;
    expect(call?.payload).toEqual(payload);
    expect(call?.message).toMatchObject({
      id: 'a',
      key: 'k',
      attempt: 1,
      maxAttempts: 7,
      headers: { trace: 'abc' },
    });
  });

  it('follows the last of several calls in one turn, and a cancel after them', async () => {
    const { producer, partition } = await start();
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    const base = Math.ceil(await bed.time()) + HOUR;
    const moved = [3, 1, 2].map(async (n) => producer.reschedule('jobs', 'a', { deliverAt: base + n }));
    expect(await Promise.all(moved)).toEqual(['moved', 'moved', 'moved']);
    expect(await partition.dueAt('a')).toBe(base + 2);

    const answers = await Promise.all([
      producer.reschedule('jobs', 'a', { deliverAt: base + 5 }),
      producer.cancel('jobs', 'a'),
      producer.reschedule('jobs', 'a', { deliverAt: base + 6 }),
    ]);
    expect(answers).toEqual(['moved', 'cancelled', 'not-found']);
    expect(await partition.scheduled()).toEqual([]);
  });

  it('counts its expireAfter from the new time', async () => {
    const producer = await startPublisher();
    for (const id of ['moved', 'left']) await bed.publishLate('jobs', id, HOUR, { id, expireAfter: '5m' });
    expect(await producer.reschedule('jobs', 'moved', { delay: 0 })).toBe('moved');

    const { events, jobs } = await start();
    await events.acked.first();
    expect(await events.dead.first()).toMatchObject({ id: 'left', failure: { reason: 'expired' } });
    expect(jobs.ids).toEqual(['moved']);
  });
});

describe('rescheduling a message that waits for its retry', () => {
  it('keeps the spent attempts and the failure of the last one', async () => {
    const { producer, events, jobs, partition } = await start();
    jobs.respond = (_payload, { attempt }) => {
      if (attempt === 1) throw new Error('down');
    };
    await producer.publish('jobs', 1, { id: 'a', attempts: 3 });
    await events.retried.first();

    expect(await producer.reschedule('jobs', 'a', { delay: '2h' })).toBe('moved');
    expect(await partition.dueAt('a')).toBeGreaterThan((await bed.time()) + 1.9 * HOUR);
    expect(await partition.spent('a')).toEqual({ deliveries: 1, attempts: 1 });
    expect(await partition.failure('a')).toMatchObject({ reason: 'failed', message: 'down' });

    expect(await producer.reschedule('jobs', 'a', { delay: 0 })).toBe('moved');
    expect(await events.acked.first()).toMatchObject({ id: 'a', attempt: 2 });
    expect(jobs.calls.map(({ message }) => [message.attempt, message.maxAttempts])).toEqual([
      [1, 3],
      [2, 3],
    ]);
  });

  it('does not give it another attempt', async () => {
    const { producer, events, jobs } = await start();
    jobs.respond = () => {
      throw new Error('down');
    };
    await producer.publish('jobs', 1, { id: 'a', attempts: 2 });
    await events.retried.first();
    expect(await producer.reschedule('jobs', 'a', { delay: 0 })).toBe('moved');
    expect(await events.dead.first()).toMatchObject({ id: 'a', attempt: 2, failure: { reason: 'failed' } });
    expect(jobs.calls).toHaveLength(2);
  });
});

describe('rescheduling changes nothing, and says so, of', () => {
  it('an id that does not exist', async () => {
    const { producer, partition } = await start();
    expect(await producer.reschedule('jobs', 'nobody', { delay: 0 })).toBe('not-found');
    expect(await producer.reschedule('jobs', { id: 'nobody', key: 'nowhere' }, { deliverAt: 0 })).toBe('not-found');
    const names = ['scheduled', 'inflight', 'messages', 'deliveries'].map((name) => partition.key(name));
    expect(await bed.redis.exists(names)).toBe(0);
    expect(await partition.counters()).toEqual({});
  });

  it('a message in flight, which is handled once', async () => {
    const { producer, events, jobs, partition } = await start();
    const gate = new Gate();
    const aborted: boolean[] = [];
    jobs.respond = async (payload, { signal }) => {
      if (payload !== 'slow') return;
      await gate.opened;
      aborted.push(signal.aborted);
    };
    await producer.publish('jobs', 'slow', { id: 'a' });
    await jobs.called();

    expect(await producer.reschedule('jobs', 'a', { delay: 20 })).toBe('in-flight');
    expect(await producer.reschedule('jobs', 'a', { deliverAt: 0 })).toBe('in-flight');
    expect(await partition.inFlight()).toEqual(['a']);
    expect(await partition.scheduled()).toEqual([]);

    gate.open();
    await events.acked.first(({ id }) => id === 'a');
    // A second delivery would have been due before this.
    await producer.publish('jobs', 'next', { id: 'b', delay: 50 });
    await events.acked.first(({ id }) => id === 'b');
    expect(jobs.ids).toEqual(['a', 'b']);
    expect(aborted).toEqual([false]);
    expect(events.stale.past).toEqual([]);
  });

  it('a dead letter', async () => {
    const { producer, events, jobs, partition } = await start();
    jobs.respond = (payload) => {
      if (payload === 'bad') throw new Error('down');
    };
    await producer.publish('jobs', 'bad', { id: 'a', attempts: 1 });
    await events.dead.first();
    const diedAt = await partition.diedAt('a');

    expect(await producer.reschedule('jobs', 'a', { delay: 0 })).toBe('dead');
    expect(await producer.reschedule('jobs', { id: 'a', key: 'a' }, { delay: 0 })).toBe('dead');

    await producer.publish('jobs', 'next', { id: 'b' });
    await events.acked.first();
    expect(jobs.ids).toEqual(['a', 'b']);
    expect(await partition.dead()).toEqual(['a']);
    expect(await partition.diedAt('a')).toBe(diedAt);
    expect(await partition.scheduled()).toEqual([]);

    // By the id alone, a message that waits is meant before it.
    await producer.publish('jobs', 'later', { id: 'a', key: 'k', delay: '1h' });
    expect(await producer.reschedule('jobs', 'a', { delay: '2h' })).toBe('moved');
  });

  it('a message that was handled, or cancelled', async () => {
    const { producer, events } = await start();
    await producer.publish('jobs', 1, { id: 'a' });
    await events.acked.first();
    await producer.publish('jobs', 2, { id: 'b', delay: '1h' });
    await producer.cancel('jobs', 'b');
    for (const id of ['a', 'b']) expect(await producer.reschedule('jobs', id, { delay: 0 })).toBe('not-found');
  });
});

describe('a process that only publishes', () => {
  it('moves messages of another process, which delivers them on time', async () => {
    const { events, jobs } = await start();
    const producer = await startPublisher();
    const lateness: number[] = [];
    jobs.respond = async (_payload, { dueAt }) => lateness.push((await bed.time()) - dueAt.getTime());
    const ids = Array.from({ length: 30 }, (_, i) => `m${i}`);
    await producer.publishMany(
      'jobs',
      ids.map((id) => ({ payload: id, options: { id, delay: '1h' } })),
    );

    // Each is moved before those that were moved already, so the owner has to be woken each time.
    const base = Math.ceil(await bed.time()) + 600;
    for (const [i, id] of ids.entries()) {
      expect(await producer.reschedule('jobs', id, { deliverAt: base + 10 * (ids.length - i) })).toBe('moved');
    }

    await events.acked.take(ids.length);
    await eventually(() => expect(lateness).toHaveLength(ids.length));
    expect(jobs.ids).toEqual(ids.toReversed());
    expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
    report(
      `lateness of ${ids.length} messages that another process moved: p50 ${percentile(lateness, 0.5).toFixed(2)} ms, ` +
        `greatest ${Math.max(...lateness).toFixed(2)} ms`,
    );
  });

  it('keeps messages of another process from being delivered at their old time', async () => {
    const { events, jobs } = await start();
    const producer = await startPublisher();
    const { dueAt } = await producer.publish('jobs', 'moved', { id: 'a', delay: 400 });
    expect(await producer.reschedule('jobs', 'a', { delay: '1h' })).toBe('moved');
    await producer.publish('jobs', 'witness', { id: 'b', deliverAt: dueAt.getTime() + 20 });
    await events.acked.first();
    expect(jobs.ids).toEqual(['b']);
    expect(await bed.partition('jobs').scheduled()).toEqual(['a']);
  });
});
