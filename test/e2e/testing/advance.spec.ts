import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { ConfigurationError, InvalidArgumentError, RetryLaterError } from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it, vi } from 'vitest';
import { DAY, MINUTE, SECOND, START, realDuration, start, useKitBed } from '../../support/kit/kit-bed.js';

useKitBed();

describe('advance', () => {
  it('delivers when the time has come, not before', async () => {
    const { harness, producer, jobs } = await start();
    await producer.publish('jobs', 'a', { delay: '30m' });

    await harness.advance(30 * MINUTE - 1);
    expect(jobs.calls).toEqual([]);
    await harness.advance(1);

    expect(jobs.calls).toMatchObject([{ payload: 'a', at: new Date('2026-01-01T00:30:00Z') }]);
  });

  it('delivers in order of due time, each message at its own, over all partitions', async () => {
    const { harness, producer, jobs } = await start();
    const delays = Array.from({ length: 300 }, (_, i) => ((i * 7919) % 300) * SECOND + 1);
    await producer.publishMany(
      'jobs',
      delays.map((delay) => ({ payload: delay, options: { delay } })),
    );

    await harness.advance('1h');

    const sorted = delays.toSorted((a, b) => a - b);
    expect(jobs.calls.map(({ payload }) => payload)).toEqual(sorted);
    expect(jobs.calls.map(({ at }) => at.getTime() - START.getTime())).toEqual(sorted);
  });

  it('ends at the given time, and lets the rest wait', async () => {
    const { harness, producer, jobs, elapsed } = await start();
    for (const [id, delay] of [
      ['soon', '1d'],
      ['late', '40d'],
    ] as const) {
      await producer.publish('jobs', id, { id, delay });
    }

    await harness.advance('30d');

    expect(jobs.ids).toEqual(['soon']);
    expect(elapsed()).toBe(30 * DAY);
  });

  it('runs what handlers publish, and what those handlers publish', async () => {
    const { harness, producer, jobs } = await start();
    jobs.respond = async (payload) => {
      const left = payload as number;
      if (left > 0) await producer.publish('jobs', left - 1, { delay: left === 2 ? undefined : '1d' } as object);
    };
    await producer.publish('jobs', 3, { delay: '1d' });

    await harness.advance('10d');

    expect(jobs.calls.map(({ payload, at }) => [payload, (at.getTime() - START.getTime()) / DAY])).toEqual([
      [3, 1],
      [2, 2],
      [1, 2],
      [0, 3],
    ]);
  });

  it('runs retries at the end of their backoff, until the message is dead', async () => {
    const { harness, producer, jobs } = await start();
    jobs.respond = () => {
      throw new Error('card declined');
    };
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });

    await harness.advance('1d');

    expect(jobs.calls.map(({ message, at }) => [message.attempt, at.toISOString()])).toEqual([
      [1, '2026-01-01T01:00:00.000Z'],
      [2, '2026-01-01T01:01:00.000Z'],
      [3, '2026-01-01T01:02:00.000Z'],
    ]);
    expect(harness.deadLetters('jobs')).toMatchObject([{ id: 'a', failure: { message: 'card declined' } }]);
  });

  it('runs retries in the steps of a message, and its last wait again and again', async () => {
    const { harness, producer, jobs, elapsed } = await start();
    const minutes: number[] = [];
    jobs.respond = () => {
      minutes.push(elapsed() / MINUTE);
      throw new Error('card declined');
    };
    await producer.publish('jobs', 1, { attempts: 5, backoff: { type: 'steps', delays: ['1m', '1h', '1d'] } });

    await harness.advance('10d');

    expect(minutes).toEqual([0, 1, 61, 1501, 2941]);
  });

  it('runs what a handler puts off', async () => {
    const { harness, producer, jobs, elapsed } = await start();
    jobs.respond = () => {
      if (elapsed() < 5 * DAY) throw new RetryLaterError('2d');
    };
    await producer.publish('jobs', 1);

    await harness.advance('10d');

    expect(jobs.calls.map(({ message, at }) => [message.attempt, (at.getTime() - START.getTime()) / DAY])).toEqual([
      [1, 0],
      [1, 2],
      [1, 4],
      [1, 6],
    ]);
  });

  it.each([
    { work: 'that reads a file', respond: () => readFile('package.json') },
    { work: 'that waits a while', respond: () => setTimeout(50) },
  ])('waits in real time for a handler $work', async ({ respond }) => {
    const { harness, producer, jobs, tape } = await start({ patience: '10s' });
    const acked = tape('acked');
    jobs.respond = respond;
    await producer.publishMany(
      'jobs',
      ['1d', '2d'].map((delay) => ({ payload: delay, options: { delay } })),
    );

    await harness.advance('1d');
    expect(acked).toHaveLength(1);
    await harness.advance('1d');
    expect(acked).toHaveLength(2);
  });

  it('takes no real time for ten years with 100 messages', async () => {
    const { harness, producer, jobs } = await start();
    for (let i = 1; i <= 100; i++) await producer.publish('jobs', i, { delay: i * 36 * DAY });

    // Nothing waits in real time; only a busy host takes as long.
    expect(await realDuration(harness.advance('10y'))).toBeLessThan(10_000);

    expect(jobs.calls.map(({ at }) => (at.getTime() - START.getTime()) / DAY / 36)).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
  });

  it('takes no real time if nothing happens', async () => {
    const { harness } = await start();
    expect(await realDuration(harness.advance('9y'))).toBeLessThan(5000);
  });

  it('moves once at a time', async () => {
    const { harness, producer, jobs, elapsed } = await start();
    const inside: number[] = [];
    jobs.respond = async () => {
      await setTimeout(5);
      inside.push(elapsed());
    };
    await producer.publishMany(
      'jobs',
      [1, 2].map((n) => ({ payload: n, options: { delay: n * DAY } })),
    );

    await Promise.all([harness.advance('1d'), harness.advance('1d'), harness.settle()]);

    expect(inside).toEqual([DAY, 2 * DAY]);
    expect(elapsed()).toBe(2 * DAY);
  });

  it('may be called by a handler, and goes on once that has ended', async () => {
    const { harness, producer, jobs, elapsed } = await start({ patience: 20 });
    jobs.respond = async () => harness.advance('1h');
    await producer.publish('jobs', 1, { delay: '1m' });

    await harness.advance('2m');
    await harness.settle();

    expect(jobs.calls).toHaveLength(1);
    expect(elapsed()).toBe(62 * MINUTE);
  });

  it.each([['-1s'], [-1], ['soon'], [NaN]])('refuses %s', async (duration) => {
    const { harness } = await start();
    await expect(harness.advance(duration)).rejects.toThrow(InvalidArgumentError);
  });

  it('says that no application runs if none was initialized', async () => {
    await expect(new DelayQueueHarness().advance('1d')).rejects.toThrow(
      expect.objectContaining({
        constructor: ConfigurationError,
        message: expect.stringContaining('init()') as string,
      }),
    );
  });

  it('says where there is no end, instead of hanging', async () => {
    const { harness, producer, jobs } = await start();
    jobs.respond = async () => {
      if (jobs.calls.length < 30_000) await producer.publish('jobs', 1);
    };
    await producer.publish('jobs', 1);

    await expect(harness.advance('1d')).rejects.toThrow("the latest of topic 'jobs'");
  });
});

describe('advanceTo', () => {
  it('moves to a date', async () => {
    const { harness, producer, jobs } = await start();
    const renewal = new Date('2026-12-24T18:00:00Z');
    await producer.publish('jobs', 1, { deliverAt: renewal });

    await harness.advanceTo(renewal.getTime() - 1);
    expect(jobs.calls).toEqual([]);
    await harness.advanceTo(renewal);

    expect(jobs.calls).toMatchObject([{ at: renewal }]);
    expect(harness.now).toEqual(renewal);
  });

  it('refuses the past, and what is no date', async () => {
    const { harness } = await start();
    await expect(harness.advanceTo(START.getTime() - 1)).rejects.toThrow('Time cannot go back');
    await expect(harness.advanceTo(new Date(NaN))).rejects.toThrow(InvalidArgumentError);
  });
});

describe('settle', () => {
  it('waits for what is due at once, and does not move time', async () => {
    const { harness, producer, jobs, tape } = await start();
    const acked = tape('acked');
    jobs.respond = async () => setTimeout(20);
    await producer.publish('jobs', 1);

    await harness.settle();

    expect(acked).toHaveLength(1);
    expect(harness.now).toEqual(START);
  });
});

describe('the clock', () => {
  it('begins at the time of the test, even if Date is faked', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2030-05-01T12:00:00Z') });
    try {
      expect(new DelayQueueHarness().now).toEqual(new Date('2030-05-01T12:00:00Z'));
    } finally {
      vi.useRealTimers();
    }
    const before = Date.now();
    expect(new DelayQueueHarness().now.getTime()).toBeGreaterThanOrEqual(before);
  });

  it('takes a faked Date along', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const { harness, producer, jobs } = await start({ onTick: (now) => vi.setSystemTime(now) });
      const seen: Date[] = [];
      jobs.respond = () => void seen.push(new Date());
      expect(new Date()).toEqual(START);
      await producer.publish('jobs', 1, { deliverAt: new Date(Date.now() + 7 * DAY) });

      await harness.advance('30d');

      expect(seen).toEqual([new Date('2026-01-08T00:00:00Z')]);
      expect(new Date()).toEqual(new Date('2026-01-31T00:00:00Z'));
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([
    [{ now: 'tomorrow' }, /now must be/],
    [{ patience: 'long' }, /patience must be/],
    [{ pace: 1 }, /no option 'pace'/],
  ])('refuses options such as %o', (options, message) => {
    expect(() => new DelayQueueHarness(options as object)).toThrow(message);
  });
});
