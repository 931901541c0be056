import { DelayQueueEvents } from 'nestjs-delay-queue';
import type { FleetEvent } from 'nestjs-delay-queue/admin';
import { describe, expect, it } from 'vitest';
import { type AppSetup, type Bed, type RunningApp, onOwnRedis, useBed } from '../support/app/bed.js';
import { Tape } from '../support/app/event-log.js';
import { Jobs } from '../support/app/jobs.js';
import { report } from '../support/readings/statistics.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

const DEFAULTS = { partitions: 2, backoff: { type: 'fixed' as const, delay: 10 } };

/** A process that handles messages and publishes its events to the fleet. */
function startWorker(on: Bed = bed, options: AppSetup['options'] = { fleetEvents: true }): Promise<RunningApp> {
  return on.start({ providers: [Jobs], options: { defaults: DEFAULTS, ...options } });
}

/** A process that only listens. */
async function startListener(on: Bed = bed) {
  const app = await on.start({ options: { consumer: false } });
  const { fleet } = app.nest.get(DelayQueueEvents);
  const tape = new Tape<FleetEvent>('fleet', fleet);
  return { app, fleet, tape };
}

function of(kind: FleetEvent['kind'], id?: string) {
  return (event: FleetEvent): boolean =>
    event.kind === kind && (id === undefined || ('id' in event && event.id === id));
}

describe('fleet-wide events', () => {
  it('reach other processes in the form of their own events', async () => {
    const { app, tape } = await startListener();
    const worker = await startWorker();
    worker.get(Jobs).respond = (payload, { attempt }) => {
      if (payload === 'fail' && attempt === 1) throw new TypeError('once');
      if (payload === 'die') throw new Error('for ever');
    };
    await worker.producer.publish('jobs', 'succeed', { id: 'a', key: 'k' });
    await worker.producer.publish('jobs', 'fail', { id: 'b' });
    await worker.producer.publish('jobs', 'die', { id: 'c', attempts: 1 });
    const acked = await tape.first(of('acked', 'b'));
    const dead = await tape.first(of('dead', 'c'));
    const [own] = worker.events.dead.past;
    const owner = await bed.partition('jobs', own?.partition).owner();

    expect(acked).toMatchObject({ topic: 'jobs', key: 'b', attempt: 2, process: owner });
    const { stack: _stack, ...failure } = own?.failure ?? {};
    expect(dead).toMatchObject({ ...own, duration: expect.any(Number), failure });
    expect(await tape.first(of('retried'))).toMatchObject({ delay: 10, error: { name: 'TypeError', message: 'once' } });
    for (const kind of ['published', 'delivered'] as const) {
      await tape.take(worker.events[kind].past.length, of(kind));
    }
    expect(await tape.first(of('published', 'a'))).toMatchObject(worker.events.published.past[0] ?? {});
    expect(app.events.published.past).toEqual([]);
    const { at } = acked as { at: Date };
    expect(Math.abs(at.getTime() - (await bed.time()))).toBeLessThan(5000);
    expect(JSON.stringify(tape.past)).not.toContain('succeed');
  });

  it('include the last events of a process that ends', async () => {
    const { tape } = await startListener();
    const worker = await startWorker();
    const taken = await tape.take(2, of('ownership'));
    await worker.close();
    const all = await tape.take(4, of('ownership'));
    expect(all.slice(0, 2)).toEqual(taken);
    expect(all.slice(2)).toEqual([
      expect.objectContaining({ owned: false }),
      expect.objectContaining({ owned: false }),
    ]);
  });

  it('are off by default', async () => {
    const { tape } = await startListener();
    const worker = await startWorker(bed, {});
    await worker.producer.publish('jobs', 1);
    await worker.events.acked.first();
    await worker.close();
    expect(await bed.redis.exists(`{${bed.prefix}:events}`)).toBe(0);
    expect(tape.past).toEqual([]);
  });

  it('are read on one connection, however many listen, and on none if nobody does', async () => {
    const worker = await startWorker();
    const { fleet } = worker.nest.get(DelayQueueEvents);
    await worker.producer.publish('jobs', 1);
    await worker.events.acked.first();
    expect(await bed.connections()).toBe(2);
    const [first, second] = [fleet.subscribe(), fleet.subscribe()];
    await eventually(async () => expect(await bed.connections()).toBe(3));
    first.unsubscribe();
    second.unsubscribe();
    await eventually(async () => expect(await bed.connections()).toBe(2));
  });

  it('do not disturb the work if Redis refuses them, and count what was dropped', async () => {
    await bed.redis.set(`{${bed.prefix}:events}`, 'damaged');
    const worker = await startWorker();
    const ids = Array.from({ length: 50 }, (_, i) => `m${i}`);
    await Promise.all(ids.map(async (id) => worker.producer.publish('jobs', 1, { id })));
    await worker.events.acked.take(50);
    await worker.events.errors.first(({ source }) => source === 'fleet');
    await bed.redis.del(`{${bed.prefix}:events}`);
    const { tape } = await startListener();
    await worker.producer.publish('jobs', 1, { id: 'later' });

    await tape.first(of('acked', 'later'));
    const lost = worker.events.errors.past.flatMap(({ error }) =>
      error instanceof Error && 'dropped' in error ? error.dropped : [],
    );
    // 50 each of published, delivered and acknowledged, and two partitions; the last may have gone through.
    expect(lost).toHaveLength(1);
    expect(lost[0]).toBeGreaterThan(100);
    expect(lost[0]).toBeLessThanOrEqual(152);
    expect(worker.logs.warnings.filter((line) => line.startsWith('Events for the fleet wait'))).toHaveLength(1);
  });

  it('cost a fraction of a command per message under load', async () => {
    await onOwnRedis(async (own) => {
      const worker = await startWorker(own);
      const messages = Array.from({ length: 5000 }, (_, i) => ({ payload: i, options: { id: `m${i}` } }));
      await worker.producer.publishMany('jobs', messages);
      await worker.events.acked.take(5000, undefined, 15_000);
      await worker.close();
      const [calls, microseconds] = await callsOf(own, 'xadd');
      const length = await own.redis.xlen(`{${own.prefix}:events}`);
      report(`fleet events of 5,000 messages: ${calls} appends in ${length} entries, ${microseconds} µs of XADD`);
      expect(calls).toBeLessThan(5000 * 0.1);
    });
  });
});

async function callsOf({ redis }: Bed, command: string): Promise<[calls: number, microseconds: number]> {
  const stats = await redis.info('commandstats');
  const [, calls, microseconds] = new RegExp(`^cmdstat_${command}:calls=(\\d+),usec=(\\d+)`, 'm').exec(stats) ?? [];
  return [Number(calls), Number(microseconds)];
}
