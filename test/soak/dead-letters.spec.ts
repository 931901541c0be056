import type { DeadLetterFilter, RequeueOptions } from 'nestjs-delay-queue/admin';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../support/waiting.js';
import { type Run, WORK } from '../fleet/operated-protocol.js';
import { NO_FAULTS, listAll, listingFaults } from '../support/processes/list-all.js';
import { notHandledOnce } from '../support/processes/fleet.js';
import { LONGEST_BLOCK, WatchedSteps, longestCall } from '../support/readings/longest-call.js';
import { report } from '../support/readings/statistics.js';
import { OperatedFleet } from '../support/processes/operated-fleet.js';
import { SavedMessages } from '../support/processes/saved-messages.js';

const COUNT = 100_000;
const PARTITIONS = 8;
const KEYS = 100;

/** The dead letters whose handler threw, the unrecoverable ones, and those of the latter that have keys. */
const FAILED = 0.8 * COUNT;
const HOPELESS = 0.2 * COUNT;
const KEYED = 0.1 * COUNT;

describe(`two processes with ${COUNT} dead letters, operated by a third`, { timeout: 120_000 }, () => {
  let fleet: OperatedFleet;
  let dead: string[];
  let saved: SavedMessages;
  /** Between the deaths of the first ones and those of the rest, epoch milliseconds. */
  let between: number;

  beforeAll(async () => {
    fleet = await OperatedFleet.start({ partitions: PARTITIONS, maxIdleWait: 5000 });
    const begin = performance.now();
    const fails = { topic: WORK, count: FAILED, task: { does: 'fail', text: 'card # declined' }, attempts: 1 } as const;
    const hopeless = { topic: WORK, count: HOPELESS - KEYED, task: { does: 'give-up', text: 'no account #' } } as const;
    dead = await fleet.publish({ ...hopeless, idPrefix: 'hopeless-' });
    dead.push(...(await fleet.publish({ ...hopeless, idPrefix: 'keyed-', count: KEYED, keys: KEYS })));
    await until('the first to die', async () => (await fleet.admin.stats(WORK)).dead === HOPELESS, 30_000);
    const [seconds, microseconds] = await fleet.redis.time();
    between = Number(seconds) * 1000 + Math.ceil(Number(microseconds) / 1000) + 1;
    dead.push(...(await fleet.publish({ ...fails, idPrefix: 'failed-' })));
    await until('the others to die', async () => (await fleet.admin.stats(WORK)).dead === COUNT, 30_000);
    report(`${COUNT} messages were published and died within ${(performance.now() - begin).toFixed(0)} ms`);
    saved = await SavedMessages.save(fleet.redis);
  }, 90_000);

  beforeEach(async () => saved.restore());

  afterAll(async () => fleet.end());

  /** Follows handler calls from now on, to expect one for each message, with some in each process. */
  function followRuns(): { expectOnceEach(ids: readonly string[]): Promise<Run[]> } {
    const before = fleet.processes.map(({ runs }) => runs.length);
    const since = (): Run[][] => fleet.processes.map(({ runs }, i) => runs.slice(before[i]));
    return {
      async expectOnceEach(ids) {
        await until('all to be handled', () => since().flat().length >= ids.length, 30_000);
        const runs = since();
        expect(notHandledOnce(runs.flat(), ids)).toEqual({});
        expect(Math.min(...runs.map((own) => own.length))).toBeGreaterThan(0);
        return runs.flat();
      },
    };
  }

  it('@OnDeadLetter is called once in the fleet, in the process where the message died', async () => {
    const told = fleet.processes.flatMap(({ deaths }) => deaths);
    report(`of ${COUNT} deaths in a row the methods were told ${told.length}; beyond 1,000 that wait they are dropped`);
    expect(new Set(told).size).toBe(told.length);

    const task = { does: 'give-up', text: 'alone' } as const;
    const time = await longestCall(fleet.redis, '600 deaths, each told', async () => {
      const ids = await fleet.publish({ topic: WORK, idPrefix: `told-${performance.now()}-`, count: 600, task });
      const of = (all: readonly string[]) => all.filter((id) => ids.includes(id));
      await until('all to be told', () => fleet.processes.flatMap(({ deaths }) => of(deaths)).length >= ids.length);
      for (const { deaths, runs } of fleet.processes) {
        expect(of(deaths).toSorted()).toEqual(of(runs.map(({ id }) => id)).toSorted());
        expect(of(deaths).length).toBeGreaterThan(0);
      }
      expect(fleet.processes.flatMap(({ deaths }) => of(deaths)).toSorted()).toEqual(ids.toSorted());
    });
    expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
  });

  it('deadLetterGroups() and dry runs count them', async () => {
    const { admin } = fleet;
    const grouping = await longestCall(fleet.redis, `grouping ${COUNT}`, async () => {
      const { total, groups, ungrouped } = await admin.deadLetterGroups(WORK);
      expect([total, ungrouped]).toEqual([COUNT, 0]);
      expect(groups.map(({ count, pattern }) => [count, pattern])).toEqual([
        [FAILED, 'card <n> declined'],
        [HOPELESS, 'no account <n>'],
      ]);
    });
    expect(grouping).toBeLessThanOrEqual(LONGEST_BLOCK);

    const counting = await longestCall(
      fleet.redis,
      'dry runs by all, reason, time and key, and of remove and purge',
      async () => {
        for (const [filter, matched] of [
          [{}, COUNT],
          [{ reason: 'failed' }, FAILED],
          [{ reason: 'unrecoverable', until: between }, HOPELESS],
          [{ since: between }, FAILED],
          [{ until: between }, HOPELESS],
          [{ key: 'key-7' }, KEYED / KEYS],
        ] as const) {
          expect(await admin.requeue(WORK, filter, { dryRun: true })).toMatchObject({ matched, changed: 0 });
        }
        expect(await admin.remove(WORK, { all: true }, { dryRun: true })).toMatchObject({ matched: COUNT, changed: 0 });
        expect(await admin.purge(WORK, { dryRun: true })).toEqual({ matched: COUNT, changed: 0, aborted: false });
      },
    );
    expect(counting).toBeLessThanOrEqual(LONGEST_BLOCK);
    expect(await admin.stats(WORK)).toMatchObject({ dead: COUNT, scheduled: 0 });
  });

  it('peek() lists each dead letter once while others die, are removed or requeued, and messages are handled', async () => {
    const { admin, processes } = fleet;
    const leaving = dead.filter((_, n) => n % 100 === 0);
    const staying = dead.filter((_, n) => n % 100 > 0);
    const later = Date.now() + 3_600_000;
    const watch = await WatchedSteps.begin(fleet.redis);
    const before = processes.map(({ runs }) => runs.length);
    const listed = await fleet.whileBustling({ from: later, to: later + 1000, dying: true }, async () => {
      const leave = leaving.values();
      return listAll(admin, {
        topic: WORK,
        state: 'dead',
        ask: (peek) => watch.step(peek),
        between: async (page) => {
          const id = page % 5 === 0 ? leave.next().value : undefined;
          if (id === undefined) return;
          if (page % 2 === 0) await admin.remove(WORK, id);
          else await admin.requeue(WORK, id, { delay: '1h' });
        },
      });
    });
    const time = watch.end(`listing ${COUNT} dead letters`);
    expect(listingFaults(listed, staying)).toEqual(NO_FAULTS);
    const handled = processes.map(({ runs }, i) => runs.length - (before[i] ?? 0));
    const died = listed.filter(({ id }) => id.startsWith('bustle-')).length;
    report(`meanwhile ${handled.join(' and ')} handled, ${died} that died then were listed, too`);
    await until('the last to be handled', async () => {
      const { due, inFlight } = await admin.stats(WORK);
      return due + inFlight === 0;
    });
    expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
  });

  it('remove() and purge() remove them', async () => {
    const { admin } = fleet;
    const time = await longestCall(
      fleet.redis,
      `removing one, ${HOPELESS} by a filter, and purging the rest`,
      async () => {
        const id = `failed-a-7`;
        expect(await admin.remove(WORK, id)).toMatchObject({ matched: 1, changed: 1 });
        expect(await admin.get(WORK, id)).toBeUndefined();
        const { groups } = await admin.deadLetterGroups(WORK);
        const fingerprint = groups.find(({ pattern }) => pattern === 'no account <n>')?.fingerprint ?? '';
        expect(await admin.remove(WORK, { fingerprint })).toMatchObject({ matched: HOPELESS, changed: HOPELESS });
        const left = COUNT - HOPELESS - 1;
        expect(await admin.purge(WORK)).toEqual({ matched: left, changed: left, aborted: false });
      },
      () => saved.restore(),
    );
    expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
    expect(await admin.stats(WORK)).toMatchObject({ dead: 0, scheduled: 0 });
  });

  it('requeue() makes each be handled once: one, an edited one, those of a filter at a rate, and all by two callers', async () => {
    const { admin } = fleet;
    await fleet.each((process) => process.ask({ kind: 'heal' }));
    const other = await fleet.anotherAdmin();
    const both = async (filter: DeadLetterFilter, options?: RequeueOptions): Promise<number> => {
      const results = await Promise.all([admin.requeue(WORK, filter, options), other.requeue(WORK, filter, options)]);
      return results.reduce((sum, { changed }) => sum + changed, 0);
    };
    const byReason = { reason: 'unrecoverable', until: between } as const;
    const runs = followRuns();
    const [one = '', edited = ''] = dead.filter((id) => id.startsWith('failed-'));
    const few = await longestCall(fleet.redis, 'requeuing one, an edited one, and those of a key', async () => {
      await admin.requeue(WORK, one);
      await admin.requeue(WORK, edited, { payload: { does: 'succeed', text: 'edited' } });
      await admin.requeue(WORK, { key: 'key-7' });
    });
    expect(few).toBeLessThanOrEqual(LONGEST_BLOCK);
    const keyed = KEYED / KEYS;
    expect((await admin.stats(WORK)).dead).toBe(COUNT - 2 - keyed);

    const rate = 2000;
    const stop = new AbortController();
    const begin = performance.now();
    setTimeout(() => stop.abort(), 1000);
    const { changed: requeued, aborted } = await admin.requeue(WORK, byReason, { rate, signal: stop.signal });
    const seconds = (performance.now() - begin) / 1000;
    report(`${requeued} within ${seconds.toFixed(2)} s, where ${rate} a second are allowed`);
    expect(aborted).toBe(true);
    expect(requeued).toBeGreaterThan(0);
    // The share of a tenth of a second is requeued at once.
    expect(requeued).toBeLessThanOrEqual(rate * (seconds + 0.1));
    expect(await both(byReason)).toBe(HOPELESS - keyed - requeued);
    expect(await both({})).toBe(FAILED - 2);

    const handled = await runs.expectOnceEach(dead);
    expect(handled.filter(({ text }) => text === 'edited').map(({ id }) => id)).toEqual([edited]);
    expect(handled.every(({ attempt }) => attempt === 1)).toBe(true);
    await until('nothing to be left', async () => {
      const { scheduled, inFlight, dead: left } = await admin.stats(WORK);
      return scheduled + inFlight + left === 0;
    });

    // Not due yet, so that only requeuing makes calls.
    const all = await longestCall(
      fleet.redis,
      `requeuing ${COUNT} by two callers`,
      async () => expect(await both({}, { delay: '1h' })).toBe(COUNT),
      () => saved.restore(),
    );
    expect(all).toBeLessThanOrEqual(LONGEST_BLOCK);
    expect(await admin.stats(WORK)).toMatchObject({ dead: 0, scheduled: COUNT, due: 0 });
    expect(await admin.get(WORK, one)).toMatchObject({ state: 'scheduled', attempts: 0, deliveries: 1 });
  });

  it('are removed beyond the limits of count and age of newly started processes', async () => {
    const { admin } = fleet;
    const maxCount = 1000;
    for (const [what, deadLetter, left] of [
      [`all but ${maxCount} of a partition`, { maxCount }, maxCount * PARTITIONS],
      ['all that are older than a second', { maxAge: 1000 }, 0],
    ] as const) {
      await fleet.endProcesses();
      const time = await longestCall(
        fleet.redis,
        `removing ${what}`,
        async () => {
          await fleet.startTwo({ deadLetter });
          await until(`${left} to be left`, async () => (await admin.stats(WORK)).dead === left, 30_000);
        },
        async () => {
          await fleet.endProcesses();
          await saved.restore();
        },
      );
      expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
      const listed = await admin.peek(WORK, 'dead', { limit: 200 });
      expect(listed.messages.every(({ at }) => at.getTime() >= between)).toBe(true);
    }
  });
});
