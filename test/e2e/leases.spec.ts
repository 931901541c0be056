import { setTimeout } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { Gate, abortOf, eventually } from '../support/waiting.js';

/** Milliseconds; it is renewed three times as often, so that a host may stand still for more than a second. */
const LEASE = 2000;

@Injectable()
class Jobs extends Recorder {
  @DelayedHandler('jobs', { lease: LEASE })
  async work(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}

const bed = useBed();

async function start() {
  const app = await bed.start({ providers: [Jobs], options: { defaults: { partitions: 2 } } });
  const { producer, events } = app;
  return { app, producer, events, jobs: app.get(Jobs) };
}

describe('a handler that runs longer than its lease', () => {
  it('keeps its messages, though another process waits for them', async () => {
    const first = await start();
    const ids = Array.from({ length: 20 }, (_, i) => `m${i}`);
    const aborted: string[] = [];
    first.jobs.respond = async (_payload, { id, signal }) => {
      await setTimeout(1.7 * LEASE);
      if (signal.aborted) aborted.push(id);
    };
    await first.producer.publishMany(
      'jobs',
      ids.map((id) => ({ payload: id, options: { id } })),
    );
    await first.jobs.called(20);
    const second = await start();
    await second.events.ownership.first(({ owned }) => owned);
    await first.events.acked.take(20);
    expect(first.jobs.ids.toSorted()).toEqual(ids.toSorted());
    expect(second.jobs.calls).toEqual([]);
    expect(aborted).toEqual([]);
    expect(first.events.stale.past).toEqual([]);
  });
});

describe('a process that is cut off from its leases', () => {
  it('has its handlers aborted, and another process delivers the message with the next attempt', async () => {
    const first = await start();
    const second = await start();
    const gate = new Gate();
    const reasons: unknown[] = [];
    for (const { jobs } of [first, second]) {
      jobs.respond = async (_payload, { attempt, signal }) => {
        if (attempt > 1) return;
        reasons.push(await abortOf(signal));
        await gate.opened;
      };
    }
    await eventually(() => expect(second.events.ownership.past).toHaveLength(1));
    const { partition } = await first.producer.publish('jobs', 1, { id: 'a' });
    const view = bed.partition('jobs', partition);
    await eventually(() => expect(first.jobs.running + second.jobs.running).toBe(1));

    // Another process claims it: the receipt of the running handler no longer fits.
    const [, delivery = '', attempt = ''] = ((await bed.redis.hget(view.key('deliveries'), 'a')) ?? '').split(' ');
    await bed.redis.hset(view.key('deliveries'), 'a', `0 ${delivery} ${attempt} 1`);
    await bed.redis.zrem(view.key('inflight'), 'a');
    await bed.redis.zadd(view.key('scheduled'), '1', 'a');
    // The next renewal, a third of a lease later at most, finds out.
    await eventually(() => expect(reasons).toMatchObject([{ code: 'LEASE_LOST' }]));
    gate.open();
    await eventually(() => {
      expect([...first.events.acked.past, ...second.events.acked.past]).toMatchObject([{ id: 'a', attempt: 2 }]);
    });
    expect(first.jobs.calls.length + second.jobs.calls.length).toBe(2);
  });
});
