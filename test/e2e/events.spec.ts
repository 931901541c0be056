import { setTimeout } from 'node:timers/promises';
import { DelayQueueEvents, DeliveryAbortedError, RetryLaterError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { Gate, abortOf, eventually } from '../support/waiting.js';

const HOUR = 3_600_000;

const bed = useBed();

async function start(partitions = 1) {
  const app = await bed.start({
    providers: [Jobs],
    options: { defaults: { partitions, backoff: { type: 'fixed', delay: 10 } } },
  });
  const { producer, events } = app;
  return { app, producer, events, jobs: app.get(Jobs), partition: bed.partition('jobs') };
}

/** Part of every event about a delivery of this message. */
const OF_A = { topic: 'jobs', partition: 0, id: 'a', key: 'k' };

describe('the events of a message', () => {
  it('report that it was published, like the result of the call', async () => {
    const { producer, events } = await start();
    const first = await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    const again = await producer.publish('jobs', 2, { id: 'a', onDuplicate: 'ignore' });
    await producer.publish('jobs', 3, { id: 'a' }).catch(() => {});
    const many = await producer.publishMany('jobs', [{ payload: 1, options: { delay: '1h' } }]);
    expect(await events.published.take(3)).toEqual([first, again, ...many]);
    expect(events.published.past).toHaveLength(3);
  });

  it('report that it was delivered, and how late', async () => {
    const { producer, events } = await start();
    const { dueAt } = await producer.publish('jobs', 1, { id: 'a', key: 'k', delay: 500 });
    const delivered = await events.delivered.first();
    const seenAt = await bed.time();
    expect(delivered).toEqual({ ...OF_A, attempt: 1, lateness: expect.any(Number) });
    expect(delivered.lateness).toBeGreaterThanOrEqual(0);
    // Counted from the publish it would be the delay more. Half of that is room for the estimate of the server's clock, which
    // is as exact as a round trip of a busy host.
    expect(delivered.lateness).toBeLessThanOrEqual(seenAt - dueAt.getTime() + 250);
  });

  it('report the lateness of a message that waited for a consumer', async () => {
    const { events } = await start();
    await bed.publishLate('jobs', 1, HOUR);
    const { lateness } = await events.delivered.first();
    expect(lateness).toBeGreaterThanOrEqual(HOUR);
    expect(lateness).toBeLessThan(HOUR + 5000);
  });

  it('report that it was acknowledged, and how long its handler ran', async () => {
    const { producer, events, jobs } = await start();
    jobs.respond = async () => setTimeout(50);
    await producer.publish('jobs', 1, { id: 'a', key: 'k' });
    const acked = await events.acked.first();
    expect(acked).toEqual({ ...OF_A, attempt: 1, duration: expect.any(Number) });
    expect(acked.duration).toBeGreaterThan(48);
    expect(acked.duration).toBeLessThan(5000);
  });

  it('report the acknowledgement only once Redis has it', async () => {
    const { producer, events, partition } = await start();
    await producer.publish('jobs', 1, { id: 'a' });
    await events.acked.first();
    expect(await partition.envelope('a')).toBeUndefined();
    expect(await partition.inFlight()).toEqual([]);
  });

  it('report each retry with its delay and error, and the dead letter with its failure', async () => {
    const { producer, events, jobs } = await start();
    const errors = [new Error('first'), new RetryLaterError(20), new Error('second'), new Error('third')];
    jobs.respond = () => {
      throw errors[jobs.calls.length - 1];
    };
    await producer.publish('jobs', 1, { id: 'a', key: 'k', attempts: 3 });
    const dead = await events.dead.first();
    const duration = expect.any(Number) as number;
    expect(events.retried.past).toEqual([
      { ...OF_A, attempt: 1, duration, delay: 10, error: errors[0] },
      { ...OF_A, attempt: 2, duration, delay: 20, error: errors[1] },
      { ...OF_A, attempt: 2, duration, delay: 10, error: errors[2] },
    ]);
    expect(events.retried.past[0]?.error).toBe(errors[0]);
    expect(dead).toMatchObject({ ...OF_A, attempt: 3, failure: { reason: 'failed', name: 'Error', message: 'third' } });
    expect(events.delivered.past.map(({ attempt }) => attempt)).toEqual([1, 2, 2, 3]);
    expect(events.acked.past).toEqual([]);
    expect(events.dead.past).toHaveLength(1);
  });

  it('report with a failure how long its handler ran, 0 if it was not called', async () => {
    const { producer, events, jobs } = await start();
    jobs.respond = async () => {
      await setTimeout(50);
      throw new Error('down');
    };
    await producer.publish('jobs', 1, { id: 'failing', attempts: 2 });
    await bed.publishLate('jobs', 1, HOUR, { id: 'expired', expireAfter: 1 });
    for (const { duration } of [await events.retried.first(), await events.dead.first(({ id }) => id === 'failing')]) {
      expect(duration).toBeGreaterThan(48);
      expect(duration).toBeLessThan(5000);
    }
    expect(await events.dead.first(({ id }) => id === 'expired')).toMatchObject({
      duration: 0,
      failure: { reason: 'expired' },
    });
  });

  it('report that it was cancelled while its handler ran, unless the handler succeeded', async () => {
    const { producer, events, jobs } = await start();
    jobs.respond = async (_payload, { id, signal }) => {
      const reason = await abortOf(signal);
      if (id === 'a') throw reason;
    };
    await producer.publish('jobs', 1, { id: 'a', key: 'k' });
    await producer.publish('jobs', 1, { id: 'b', key: 'k' });
    await jobs.called(2);
    for (const id of ['a', 'b']) expect(await producer.cancel('jobs', { id, key: 'k' })).toBe('in-flight');

    expect(await events.cancelled.first()).toEqual({ ...OF_A, attempt: 1, duration: expect.any(Number) });
    await events.acked.first(({ id }) => id === 'b');
    expect(events.cancelled.past).toHaveLength(1);
    expect(events.retried.past).toEqual([]);
  });

  it('report that it was replaced while its handler ran and failed', async () => {
    const { producer, events, jobs } = await start();
    const gate = new Gate();
    jobs.respond = async (payload) => {
      if (payload !== 'old') return;
      await gate.opened;
      throw new Error('down');
    };
    await producer.publish('jobs', 'old', { id: 'a', key: 'k' });
    await jobs.called();
    await producer.publish('jobs', 'new', { id: 'a', key: 'k', onDuplicate: 'replace' });
    gate.open();

    expect(await events.replaced.first()).toEqual({ ...OF_A, attempt: 1, duration: expect.any(Number) });
    expect(await events.acked.first()).toMatchObject({ ...OF_A, attempt: 1 });
    expect(events.retried.past).toEqual([]);
  });

  it('report that it was given back at a shutdown, and how long its handler had run', async () => {
    const app = await bed.start({ providers: [Jobs], options: { consumer: { shutdownTimeout: 50 } } });
    const { producer, events } = app;
    app.get(Jobs).respond = async (_payload, { signal }) => abortOf(signal);
    await producer.publish('jobs', 1, { id: 'a', key: 'k' });
    await app.get(Jobs).called();
    await app.close();

    const released = await events.released.first();
    expect(released).toEqual({ ...OF_A, partition: expect.any(Number), attempt: 1, duration: expect.any(Number) });
    expect(released.duration).toBeGreaterThan(45);
    expect(events.released.past).toHaveLength(1);
  });

  it('report a settle that came too late, whose signal was aborted with LEASE_LOST', async () => {
    const { producer, events, jobs, partition } = await start();
    const reasons: unknown[] = [];
    const gate = new Gate();
    jobs.respond = async (payload, { signal }) => {
      if (payload !== 'long' || reasons.length > 0) return;
      reasons.push(await abortOf(signal));
      await gate.opened;
    };
    await producer.publish('jobs', 'long', { id: 'a', key: 'k' });
    await jobs.called();
    // As if the lease had ended without the process noticing; the next message makes it look.
    await bed.redis.zadd(partition.key('inflight'), 'XX', '1', 'a\0k');
    await producer.publish('jobs', 'next', { id: 'b' });
    await eventually(() => expect(reasons).toHaveLength(1));
    expect(reasons[0]).toBeInstanceOf(DeliveryAbortedError);
    expect(reasons[0]).toMatchObject({ code: 'LEASE_LOST' });
    // The second delivery waits for the first to end: never two at once in a process.
    await events.acked.first(({ id }) => id === 'b');
    expect(jobs.callsOf('a')).toHaveLength(1);
    gate.open();

    expect(await events.stale.first()).toEqual({ ...OF_A, attempt: 1 });
    expect(await events.errors.first()).toEqual({
      source: 'stale',
      topic: 'jobs',
      partition: 0,
      error: expect.objectContaining({ code: 'LEASE_LOST' }),
    });
    expect(await events.acked.first(({ id }) => id === 'a')).toMatchObject({ attempt: 1 });
    expect(events.acked.past.filter(({ id }) => id === 'a')).toHaveLength(1);
    expect(jobs.callsOf('a')).toHaveLength(2);
  });
});

function partitionsOf(events: readonly { partition: number }[]): Set<number> {
  return new Set(events.map(({ partition }) => partition));
}

describe('the events of ownership', () => {
  it('report which partitions came, moved, and were given up', async () => {
    const first = await start(8);
    const atFirst = await first.events.ownership.take(8);
    expect(partitionsOf(atFirst)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7]));
    expect(atFirst[0]).toEqual({ topic: 'jobs', partition: expect.any(Number), owned: true });

    const second = await start(8);
    const moved = await first.events.ownership.take(4, ({ owned }) => !owned);
    const gained = await second.events.ownership.take(4, ({ owned }) => owned);
    expect(partitionsOf(moved).size).toBe(4);
    expect(partitionsOf(gained)).toEqual(partitionsOf(moved));

    await second.app.close();
    const givenUp = await second.events.ownership.take(4, ({ owned }) => !owned);
    expect(partitionsOf(givenUp)).toEqual(partitionsOf(moved));
    // Eight at the start, and four that come back.
    const back = (await first.events.ownership.take(12, ({ owned }) => owned)).slice(8);
    expect(partitionsOf(back)).toEqual(partitionsOf(moved));
  });
});

describe('DelayQueueEvents', () => {
  it('keeps nothing for late subscribers, and does not complete', async () => {
    const { app, producer, events } = await start();
    await producer.publish('jobs', 1, { id: 'early' });
    await events.acked.first();
    const seen: string[] = [];
    const late = app.nest.get(DelayQueueEvents).acked.subscribe({
      next: ({ id }) => seen.push(id),
      complete: () => seen.push('completed'),
    });
    await producer.publish('jobs', 1, { id: 'late' });
    await events.acked.first(({ id }) => id === 'late');
    await app.close();
    late.unsubscribe();
    expect(seen).toEqual(['late']);
  });

  it('reports only what its own process does', async () => {
    const { events } = await start();
    const publisher = await bed.start({ options: { consumer: false } });
    await publisher.producer.publish('jobs', 1, { id: 'a' });
    await events.acked.first();
    expect(events.published.past).toEqual([]);
    expect(publisher.events.published.past).toHaveLength(1);
    expect(publisher.events.delivered.past).toEqual([]);
    expect(publisher.events.acked.past).toEqual([]);
  });
});
