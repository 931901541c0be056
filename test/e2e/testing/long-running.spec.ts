import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, UseInterceptors } from '@nestjs/common';
import { DelayedHandler, topic } from 'nestjs-delay-queue';
import { race, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Gate, abortOf } from '../../support/waiting.js';
import { MINUTE, SECOND, START, realDuration, start, useKitBed } from '../../support/kit/kit-bed.js';

const PATIENCE = 60;

useKitBed();

describe('a handler that hangs', () => {
  it('times out at its time, and its message is tried again', async () => {
    const { harness, producer, jobs, tape } = await start({ patience: PATIENCE });
    const retried = tape('retried');
    const reasons: unknown[] = [];
    jobs.respond = async (_payload, { signal, attempt }) => {
      if (attempt === 1) reasons.push(await abortOf(signal), harness.now);
    };
    await producer.publish('jobs', 1, { delay: '1h', timeout: '30s' });

    await harness.advance('2h');

    expect(reasons).toMatchObject([{ code: 'HANDLER_TIMEOUT' }, new Date('2026-01-01T01:00:30Z')]);
    expect(retried).toMatchObject([{ attempt: 1, delay: MINUTE }]);
    expect(jobs.calls.map(({ at }) => at)).toEqual([
      new Date('2026-01-01T01:00:00Z'),
      new Date('2026-01-01T01:01:30Z'),
    ]);
  });

  it('is waited for once', async () => {
    // Far more than the second advance takes on a busy host.
    const patience = 1500;
    const { harness, producer, jobs } = await start({ patience });
    jobs.respond = () => new Promise(() => {});
    await producer.publish('jobs', 1);

    const first = await realDuration(harness.advance('1m'));
    const then = await realDuration(harness.advance('10m'));

    expect(first).toBeGreaterThanOrEqual(patience - 1);
    expect(then).toBeLessThan(patience);
  });

  it('costs its patience once if many hang together', async () => {
    const { harness, producer, jobs } = await start({ patience: PATIENCE });
    jobs.respond = () => new Promise(() => {});
    await producer.publishMany(
      'jobs',
      Array.from({ length: 50 }, (_, i) => ({ payload: i, options: { delay: '1m' } })),
    );

    // Fifty times if they were waited for one after another; half of that is room for a busy host.
    expect(await realDuration(harness.advance('2m'))).toBeLessThan(25 * PATIENCE);
    expect(jobs.calls).toHaveLength(50);
  });

  it('keeps its lease for as long as it runs, and is aborted when its message is cancelled', async () => {
    const { harness, producer, jobs, tape } = await start({ patience: PATIENCE });
    const [stale, retried] = [tape('stale'), tape('retried')];
    const reasons: unknown[] = [];
    jobs.respond = async (_payload, { signal }) => void reasons.push(await abortOf(signal));
    await producer.publish('jobs', 1, { id: 'a' });

    await harness.advance('10m');
    expect(reasons).toEqual([]);
    expect(await producer.cancel('jobs', 'a')).toBe('in-flight');
    await harness.advance('10m');

    expect(reasons).toMatchObject([{ code: 'CANCELLED' }]);
    expect([stale, retried]).toEqual([[], []]);
    expect(jobs.calls).toHaveLength(1);
  });

  it('goes on when the test lets it', async () => {
    const { harness, producer, jobs, tape } = await start({ patience: PATIENCE });
    const acked = tape('acked');
    const gate = new Gate();
    jobs.respond = () => gate.opened;
    await producer.publish('jobs', 1);
    await harness.advance('1m');
    expect(acked).toEqual([]);

    gate.open();
    await harness.settle();

    expect(acked).toMatchObject([{ duration: MINUTE }]);
  });

  it('does not keep others from their time', async () => {
    const { harness, producer, jobs } = await start({ patience: PATIENCE });
    jobs.respond = (payload) => (payload === 'hangs' ? new Promise(() => {}) : undefined);
    await producer.publish('jobs', 'hangs', { delay: '1s' });
    await producer.publish('jobs', 'works', { delay: '5s' });

    await harness.advance('10s');

    expect(jobs.calls.map(({ payload, at }) => [payload, at.getTime() - START.getTime()])).toEqual([
      ['hangs', SECOND],
      ['works', 5 * SECOND],
    ]);
  });
});

describe('what else belongs to a call', () => {
  it('is waited for: a schema', async () => {
    const slow = topic('slow', { schema: z.number().refine(async () => sleep(50, true)) });
    const called: unknown[] = [];
    @Injectable()
    class Worker {
      @DelayedHandler(slow)
      handle(payload: unknown): void {
        called.push(payload);
      }
    }
    const { harness, producer } = await start({ patience: '1m', providers: [Worker] });
    await producer.publish(slow, 1, { delay: '1h' });
    await harness.advance('1h');
    expect(called).toEqual([1]);
  });

  it('is waited for: the method, if an interceptor answers before it', async () => {
    const ended: unknown[] = [];
    @Injectable()
    class Worker {
      @DelayedHandler('outlived')
      @UseInterceptors({ intercept: (_context, next) => race(next.handle(), timer(10)) })
      async handle(payload: unknown): Promise<void> {
        ended.push(await sleep(50, payload));
      }
    }
    const { harness, producer } = await start({ patience: '1m', providers: [Worker] });
    await producer.publish('outlived', 1, { delay: '1h' });
    await harness.advance('1h');
    expect(ended).toEqual([1]);
  });
});
