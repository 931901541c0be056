import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayQueueAdmin, type PeekState, createDelayQueueAdmin } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import type { Bed, RunningApp } from './support/bed.js';
import { longestOf, longestScript, watchScripts } from './support/script-watch.js';
import { report } from './support/statistics.js';
import { SOON, eventually } from './support/waiting.js';

const COUNT = 100_000;
const PARTITIONS = 8;

/** Longest time that a script may keep Redis busy, in milliseconds. */
const LONGEST_SCRIPT = 10;

@Injectable()
class Counter {
  readonly handled: string[] = [];

  @DelayedHandler('jobs')
  count(payload: string): void {
    this.handled.push(payload);
  }
}

/** Two processes' worth of applications that handle, and an admin beside them that knows nothing of Nest. */
async function open(own: Bed): Promise<{ apps: RunningApp[]; admin: DelayQueueAdmin & { close(): Promise<void> } }> {
  const options = { defaults: { partitions: PARTITIONS }, consumer: { maxIdleWait: 300 } };
  const apps = [await own.start({ providers: [Counter], options }), await own.start({ providers: [Counter], options })];
  const admin = await createDelayQueueAdmin({ redis: own.connection, prefix: own.prefix, timeout: '30s' });
  return { apps, admin };
}

async function publishBacklog({ producer }: RunningApp, deliverAt: number): Promise<void> {
  for (let from = 0; from < COUNT; from += 10_000) {
    const messages = Array.from({ length: 10_000 }, (_, i) => {
      const n = from + i;
      // A thousand each are due at the same time.
      return { payload: `waits ${n}`, options: { id: `waits-${n}`, deliverAt: deliverAt + Math.floor(n / 1000) } };
    });
    await producer.publishMany('jobs', messages);
  }
}

async function listAll(admin: DelayQueueAdmin, state: PeekState, between: (page: number) => Promise<unknown>) {
  const ids: string[] = [];
  const times: number[] = [];
  let cursor: string | undefined;
  for (let page = 1; page === 1 || cursor !== undefined; page++) {
    const listed = await admin.peek('jobs', state, { limit: 200, cursor });
    for (const { id, at } of listed.messages) {
      ids.push(id);
      times.push(at.getTime());
    }
    cursor = listed.cursor;
    await between(page);
  }
  return { ids, times };
}

function expectInOrder(times: readonly number[]): void {
  expect(times.every((time, i) => i === 0 || time >= (times[i - 1] ?? 0))).toBe(true);
}

const handledBy = (apps: readonly RunningApp[]): string[] => apps.flatMap((app) => app.get(Counter).handled);

describe('100,000 messages that wait, and two applications that handle others', () => {
  it(
    'are counted, listed, edited, moved, paused and drained, and no script blocks Redis',
    { timeout: 180_000 },
    async () => {
      const longest = await longestOf(LONGEST_SCRIPT, '100,000 that wait', async (own) => {
        const { apps, admin } = await open(own);
        const [publisher] = apps as [RunningApp];
        await publishBacklog(publisher, (await own.time()) + 3_600_000);
        await watchScripts(own);

        expect(await admin.topics()).toEqual(['jobs']);
        expect(await admin.stats('jobs')).toMatchObject({ scheduled: COUNT, due: 0, dead: 0, paused: false });

        let sent = 0;
        const startedAt = performance.now();
        const { ids, times } = await listAll(admin, 'scheduled', async (page) => {
          if (page % 5 > 0) return;
          const published = [++sent, ++sent].map(async (n) => publisher.producer.publish('jobs', `now ${n}`));
          const later = publisher.producer.publish('jobs', 'later', {
            id: `later-${page}`,
            delay: `${50 + (page % 60)}m`,
          });
          await Promise.all([...published, later, admin.cancel('jobs', `later-${page - 10}`)]);
        });
        report(`listing ${ids.length} messages took ${Math.round(performance.now() - startedAt)} ms`);
        const staying = ids.filter((id) => id.startsWith('waits-'));
        expect(staying).toHaveLength(COUNT);
        expect(new Set(staying).size).toBe(COUNT);
        expect(new Set(ids).size).toBe(ids.length);
        expectInOrder(times);
        await eventually(() => expect(handledBy(apps)).toHaveLength(sent));

        expect(await admin.edit('jobs', 'waits-77', 'edited')).toBe(true);
        expect(await admin.runNow('jobs', 'waits-77')).toBe(true);
        expect(await admin.reschedule('jobs', 'waits-78', { delay: 0 })).toBe(true);
        await eventually(() => expect(handledBy(apps).slice(sent).toSorted()).toEqual(['edited', 'waits 78']));
        expect(await admin.cancel('jobs', 'waits-79')).toBe('cancelled');

        await admin.pause('jobs');
        for (const app of apps) await app.producer.publish('jobs', 'paused');
        await own.redis.ping();
        expect(await admin.stats('jobs')).toMatchObject({ paused: true });
        expect(handledBy(apps)).not.toContain('paused');
        await admin.resume('jobs');
        await eventually(() => expect(handledBy(apps).filter((payload) => payload === 'paused')).toHaveLength(2));

        const { scheduled } = await admin.stats('jobs');
        expect(await admin.drain('jobs', { dryRun: true })).toEqual({ matched: scheduled, removed: 0 });
        const stop = new AbortController();
        const stopped = admin.drain('jobs', { signal: stop.signal });
        setTimeout(() => stop.abort(), 20);
        const { removed: first } = await stopped;
        expect(first).toBeLessThan(scheduled);
        expect(await admin.drain('jobs')).toEqual({ matched: scheduled - first, removed: scheduled - first });
        expect(await admin.stats('jobs')).toMatchObject({ scheduled: 0, nextDueAt: undefined });
        expect((await own.keys()).filter((key) => /:(messages|scheduled|keyed)$/.test(key))).toEqual([]);

        const longestCall = await longestScript(own);
        await admin.close();
        return longestCall;
      });
      expect(longest).toBeLessThan(LONGEST_SCRIPT);
    },
  );

  it('are listed and purged as dead letters, too', { timeout: 180_000 }, async () => {
    const longest = await longestOf(LONGEST_SCRIPT, '100,000 dead letters', async (own) => {
      const { apps, admin } = await open(own);
      await publishBacklog(apps[0] as RunningApp, (await own.time()) + 3_600_000);
      for (let n = 0; n < PARTITIONS; n++) {
        const partition = own.partition('jobs', n);
        await own.redis.rename(partition.key('scheduled'), partition.key('dead'));
      }
      await watchScripts(own);

      const { ids, times } = await listAll(admin, 'dead', async () => undefined);
      expect(new Set(ids).size).toBe(COUNT);
      expect(ids).toHaveLength(COUNT);
      expectInOrder(times);
      expect(await admin.purge('jobs', { dryRun: true })).toEqual({ matched: COUNT, removed: 0 });
      expect(await admin.purge('jobs')).toEqual({ matched: COUNT, removed: COUNT });
      expect(await admin.stats('jobs')).toMatchObject({ dead: 0, counters: { cancelled: 0 } });

      const longestCall = await longestScript(own);
      await admin.close();
      return longestCall;
    });
    expect(longest).toBeLessThan(LONGEST_SCRIPT);
  });
});

describe('a pause', () => {
  it(`reaches every application within maxIdleWait, and ends within it`, async () => {
    await longestOf(Infinity, 'a pause', async (own) => {
      const { apps, admin } = await open(own);
      const [{ producer }] = apps as [RunningApp];
      await producer.publish('jobs', 'before');
      await eventually(() => expect(handledBy(apps)).toEqual(['before']));
      await admin.pause('jobs');
      const payloads = Array.from({ length: 40 }, (_, n) => `m${n}`);
      await producer.publishMany(
        'jobs',
        payloads.map((payload) => ({ payload })),
      );
      // Two heartbeats, each of which looks for what is due.
      await new Promise((resolve) => setTimeout(resolve, 700));
      expect(handledBy(apps)).toEqual(['before']);
      expect(await admin.stats('jobs')).toMatchObject({ due: 40, paused: true, oldestDueAt: expect.any(Date) });
      await admin.resume('jobs');
      await eventually(() => expect(handledBy(apps).toSorted()).toEqual(['before', ...payloads].toSorted()), SOON);
      expect(apps.every((app) => app.get(Counter).handled.length > 1)).toBe(true);
      await admin.close();
      return 0;
    });
  });
});
