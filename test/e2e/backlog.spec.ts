import { Injectable } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import type { Bed, RunningApp } from '../support/app/bed.js';
import { longestOf, longestScript, watchScripts } from '../support/readings/script-watch.js';
import { report } from '../support/readings/statistics.js';
import { eventually } from '../support/waiting.js';

const COUNT = 20_000;

/** The longest time for which a script may keep Redis busy, in milliseconds. */
const LONGEST_SCRIPT = 50;

/** Counts instead of keeping each call. */
@Injectable()
class Counter {
  readonly calls = new Map<string, number>();
  /** How often each message fails before it is acknowledged. */
  failures = 0;
  lateness = 0;

  @DelayedHandler('jobs', { backoff: { type: 'fixed', delay: 0 } })
  count(_payload: unknown, { id, dueAt }: DelayedMessage): void {
    const calls = (this.calls.get(id) ?? 0) + 1;
    this.calls.set(id, calls);
    this.lateness = Date.now() - dueAt.getTime();
    if (calls <= this.failures) throw new Error('not yet');
  }
}

const options = { defaults: { partitions: 1 } };

async function publishAll({ producer }: RunningApp, deliverAt: number, count = COUNT): Promise<void> {
  const messages = Array.from({ length: count }, (_, n) => ({ payload: { n }, options: { id: `m${n}`, deliverAt } }));
  await producer.publishMany('jobs', messages);
}

/** Waits until every message is acknowledged, and checks how often each was handled and that nothing is left. */
async function expectAllHandled(own: Bed, app: RunningApp, count = COUNT): Promise<void> {
  const { calls, failures } = app.get(Counter);
  const partition = own.partition('jobs');
  const acked = async () => Number(await own.redis.hget(partition.key('meta'), 'acked'));
  await eventually(async () => expect(await acked()).toBe(count), 15_000);
  expect(calls.size).toBe(count);
  expect([...calls.values()].filter((times) => times !== failures + 1)).toEqual([]);
  const keys = ['scheduled', 'inflight', 'messages', 'deliveries', 'dead', 'errors'].map((name) => partition.key(name));
  expect(await own.redis.exists(...keys)).toBe(0);
  expect(app.logs.errors).toEqual([]);
}

describe('20,000 messages of one partition are handled exactly once, and no script blocks Redis', () => {
  it('if they fall due at once', async () => {
    const longest = await longestOf(LONGEST_SCRIPT, '20,000 due at once', async (own) => {
      const app = await own.start({ providers: [Counter], options });
      await watchScripts(own);
      await publishAll(app, (await own.time()) + 1500);
      await expectAllHandled(own, app);
      report(`20,000 due at once: the last one handled after ${app.get(Counter).lateness} ms`);
      return longestScript(own);
    });
    expect(longest).toBeLessThan(LONGEST_SCRIPT);
  });

  it('if they were due before the consumer booted', async () => {
    const longest = await longestOf(LONGEST_SCRIPT, '20,000 due before the boot', async (own) => {
      const publisher = await own.start({ options: { ...options, consumer: false } });
      await publishAll(publisher, (await own.time()) - 1000);
      await watchScripts(own);
      const app = await own.start({ providers: [Counter], options });
      await expectAllHandled(own, app);
      return longestScript(own);
    });
    expect(longest).toBeLessThan(LONGEST_SCRIPT);
  });
});

describe('5,000 messages of one partition that each fail once', () => {
  it('are handled twice each, and no script blocks Redis', async () => {
    const longest = await longestOf(LONGEST_SCRIPT, '5,000 that fail once', async (own) => {
      const app = await own.start({ providers: [Counter], options });
      app.get(Counter).failures = 1;
      await watchScripts(own);
      await publishAll(app, await own.time(), 5000);
      await expectAllHandled(own, app, 5000);
      return longestScript(own);
    });
    expect(longest).toBeLessThan(LONGEST_SCRIPT);
  });
});
