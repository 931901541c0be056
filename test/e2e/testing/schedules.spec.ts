import { Injectable } from '@nestjs/common';
import {
  type DelayedMessage,
  ConfigurationError,
  DelayQueueAdmin,
  DelayQueueConsumers,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  DelayQueueSchedules,
  InvalidArgumentError,
  RecurringHandler,
  type RecurringHandlerOptions,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { DAY, MINUTE, START, boot, start, useKitBed } from '../../support/kit/kit-bed.js';

useKitBed();

const BERLIN = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Europe/Berlin',
  dateStyle: 'short',
  timeStyle: 'short',
});

/** A handler of `report` that declares a schedule, and the due times of what it has handled. */
function reporterOf(options: RecurringHandlerOptions) {
  @Injectable()
  class Reporter {
    readonly dueAt: Date[] = [];

    @RecurringHandler('report', options)
    report(_payload: unknown, message: DelayedMessage): void {
      this.dueAt.push(message.dueAt);
    }
  }
  return Reporter;
}

/** Boots an application with such a handler, on a harness of its own or on one that others use, too. */
async function reporting(
  options: RecurringHandlerOptions,
  harness = new DelayQueueHarness({ now: START }),
  given: DelayQueueModuleOptions = {},
) {
  const Reporter = reporterOf(options);
  const { module } = await boot({ imports: [DelayQueueModule.forRoot(given)], providers: [Reporter] }, harness);
  return { app: module, harness, schedules: module.get(DelayQueueSchedules), dueAt: module.get(Reporter).dueAt };
}

function minutes(times: readonly Date[]): number[] {
  return times.map((time) => (time.getTime() - START.getTime()) / MINUTE);
}

describe('two years at half past two in Berlin', () => {
  it('occur once a day, also on those on which that time does not exist, or comes twice', async () => {
    const { harness, dueAt } = await reporting({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' });
    await harness.advance(730 * DAY);

    const local = dueAt.map((time) => BERLIN.format(time));
    const days = local.map((time) => time.slice(0, 10));
    expect([local.length, new Set(days).size]).toEqual([730, 730]);
    expect(local.filter((time) => !time.endsWith('02:30'))).toEqual(['2026-03-29 03:00', '2027-03-28 03:00']);
  });
});

describe('an outage of an hour, with a schedule every ten minutes', () => {
  it.each([
    { catchUp: 'latest', published: [60] },
    { catchUp: 'all', published: [10, 20, 30, 40, 50, 60] },
    { catchUp: 'none', published: [] },
  ] as const)("catchUp '$catchUp' publishes those of the minutes $published", async ({ catchUp, published }) => {
    const options = { every: '10m', catchUp } as const;
    const before = await reporting(options);
    await before.app.close();
    await before.harness.advance('65m');
    const { harness, schedules, dueAt } = await reporting(options, before.harness);
    await harness.settle();

    expect(minutes(dueAt)).toEqual(published);
    const found = await schedules.get('report');
    expect(found).toMatchObject({ missed: 6 - published.length, next: new Date(START.getTime() + 70 * MINUTE) });
    await harness.advance('5m');
    expect(minutes(dueAt)).toEqual([...published, 70]);
  });

  it('is caught up as the next version of the application says', async () => {
    const before = await reporting({ every: '10m', catchUp: 'all' });
    await before.app.close();
    await before.harness.advance('65m');
    const { harness, dueAt } = await reporting({ every: '10m', catchUp: 'none' }, before.harness);
    await harness.advance('5m');

    expect(minutes(dueAt)).toEqual([70]);
  });
});

describe('DelayQueueSchedules', () => {
  it('stores, lists, changes, pauses and removes schedules', async () => {
    const { app, harness, jobs } = await start();
    const schedules = app.get(DelayQueueSchedules);
    const given = { id: 'tick', topic: 'jobs', payload: 'tick', every: '10m' } as const;
    const stored = await schedules.upsert(given);
    expect(stored).toMatchObject({ id: 'tick', topic: 'jobs', payload: 'tick', every: 10 * MINUTE, declared: false });
    expect(await schedules.upsert(given)).toEqual(stored);
    expect((await schedules.list()).map(({ id }) => id)).toEqual(['tick']);
    expect(minutes(await schedules.next('tick', 3))).toEqual([10, 20, 30]);

    await harness.advance('25m');
    expect(minutes(await schedules.next('tick', 2))).toEqual([30, 40]);
    expect(await schedules.pause('tick')).toBe(true);
    await harness.advance('30m');
    expect(await schedules.get('tick')).toMatchObject({ paused: true, next: undefined, missed: 0 });
    await schedules.resume('tick');
    await harness.advance('10m');
    await schedules.upsert({ ...given, every: '1h' });
    await harness.advance('1h');
    expect(jobs.calls.map(({ at }) => (at.getTime() - START.getTime()) / MINUTE)).toEqual([10, 20, 60, 120]);
    expect(jobs.calls.map(({ message }) => message.id)).toEqual(
      [10, 20, 60, 120].map((minute) => `tick@${new Date(START.getTime() + minute * MINUTE).toISOString()}`),
    );

    expect(await schedules.remove('tick')).toBe(true);
    expect([await schedules.remove('tick'), await schedules.get('tick'), await schedules.list()]).toEqual([
      false,
      undefined,
      [],
    ]);
    await harness.advance('1d');
    expect(jobs.calls).toHaveLength(4);
  });

  it.each(['pause', 'remove'] as const)('takes back what was published ahead of its time: %s', async (change) => {
    const { app, harness, admin, jobs } = await start();
    const schedules = app.get(DelayQueueSchedules);
    await schedules.upsert({ id: 'tick', topic: 'jobs', payload: 7, every: 500 });
    await harness.advance(750);
    expect(await admin.stats('jobs')).toMatchObject({ scheduled: 4 });
    await schedules[change]('tick');
    expect(await admin.stats('jobs')).toMatchObject({ scheduled: 0 });
    await harness.advance('1m');

    expect(jobs.calls).toHaveLength(1);
  });

  it('misses no occurrence that comes after it was paused and resumed', async () => {
    const { app, harness, jobs } = await start();
    const schedules = app.get(DelayQueueSchedules);
    await schedules.upsert({ id: 'tick', topic: 'jobs', payload: 7, every: 500 });
    await harness.advance(750);
    await schedules.pause('tick');
    await schedules.resume('tick');
    const [next] = await schedules.next('tick');
    await harness.advance(500);

    expect(next).toEqual(new Date(START.getTime() + 1000));
    expect(jobs.calls).toHaveLength(2);
  });

  it('publishes one more now, also of one that is paused', async () => {
    const { app, harness, jobs } = await start();
    const schedules = app.get(DelayQueueSchedules);
    await schedules.upsert({ id: 'tick', topic: 'jobs', payload: 7, every: '1h' });
    await schedules.pause('tick');
    await schedules.runNow('tick');
    await harness.settle();

    expect(jobs.calls.map(({ payload }) => payload)).toEqual([7]);
    await expect(schedules.runNow('tack')).rejects.toThrow("There is no schedule 'tack'");
  });

  it('skips an occurrence while an earlier one is not over', async () => {
    const { app, harness, jobs, tape } = await start();
    const schedules = app.get(DelayQueueSchedules);
    const missed = tape('missed');
    jobs.respond = (_payload, { attempt }) => {
      if (attempt === 1) throw new Error('not yet');
    };
    await schedules.upsert({
      id: 'tick',
      topic: 'jobs',
      payload: 7,
      every: '10m',
      overlap: 'skip',
      options: { backoff: { type: 'fixed', delay: '15m' } },
    });
    await harness.advance('40m');

    expect(jobs.calls.map(({ at }) => (at.getTime() - START.getTime()) / MINUTE)).toEqual([10, 25, 30]);
    expect(missed).toMatchObject([
      { schedule: 'tick', reason: 'overlap', occurrences: 1 },
      { schedule: 'tick', reason: 'overlap', occurrences: 1 },
    ]);
  });

  it('ends', async () => {
    const { app, harness, jobs } = await start();
    const schedules = app.get(DelayQueueSchedules);
    const rule = { startAt: START.getTime() + 5 * MINUTE, endAt: START.getTime() + 25 * MINUTE };
    await schedules.upsert({ id: 'tick', topic: 'jobs', payload: 7, every: '10m', ...rule });
    await harness.advance('1d');

    expect(jobs.calls.map(({ at }) => (at.getTime() - START.getTime()) / MINUTE)).toEqual([5, 15, 25]);
    expect(await schedules.get('tick')).toMatchObject({ next: undefined, paused: false });
  });

  it.each([
    { what: 'neither every nor cron', given: {}, says: 'every' },
    { what: 'both', given: { every: '1m', cron: '* * * * *' }, says: 'every' },
    { what: 'too short an interval', given: { every: 99 }, says: '100' },
    { what: 'no end', given: { cron: '* '.repeat(501) }, says: 'cron must be a string of at most 1000 characters' },
    { what: 'no expression', given: { cron: 'at noon' }, says: 'cron must be a cron expression' },
    { what: 'an expression that never occurs', given: { cron: '0 0 31 2 *' }, says: 'no time' },
    {
      what: 'an unknown time zone',
      given: { cron: '* * * * *', timeZone: 'Europe/Atlantis' },
      says: 'Europe/Atlantis',
    },
    { what: 'an unknown option', given: { every: '1m', jitter: 1 }, says: 'jitter' },
    { what: 'another id than a name', given: { every: '1m', id: '' }, says: 'id' },
  ])('refuses $what', async ({ given, says }) => {
    const { app } = await start();
    const schedules = app.get(DelayQueueSchedules);
    const error: unknown = await schedules
      .upsert({ id: 'tick', topic: 'jobs', payload: null, ...given })
      .catch((refusal: unknown) => refusal);

    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain(says);
    expect(await schedules.list()).toEqual([]);
  });

  it('refuses to skip occurrences of a topic that is delivered at most once', async () => {
    const { app } = await start({ options: { topics: { mails: { delivery: 'at-most-once' } } } });
    const schedules = app.get(DelayQueueSchedules);
    const given = { id: 'tick', topic: 'mails', payload: null, every: '1m' } as const;

    await expect(schedules.upsert({ ...given, overlap: 'skip' })).rejects.toThrow("overlap 'skip' has no meaning");
    expect(await schedules.upsert(given)).toMatchObject({ overlap: 'allow' });
  });

  it('refuses to move one to another topic or key', async () => {
    const { app } = await start();
    const schedules = app.get(DelayQueueSchedules);
    await schedules.upsert({ id: 'tick', topic: 'jobs', payload: null, every: '1m' });

    await expect(schedules.upsert({ id: 'tick', topic: 'other', payload: null, every: '1m' })).rejects.toThrow(
      "exists with topic 'jobs'",
    );
  });
});

describe('@RecurringHandler', () => {
  it('is stored again at each boot, stays paused, and is pruned once nobody declares it', async () => {
    const first = await reporting({ every: '1h' });
    await first.schedules.pause('report');
    await first.app.close();
    const second = await reporting({ id: 'report.hourly', every: '1h' }, first.harness);
    expect(await second.schedules.list()).toMatchObject([
      { id: 'report', paused: true, declared: true },
      { id: 'report.hourly', paused: false, declared: true },
    ]);

    expect(await second.schedules.prune()).toEqual(['report']);
    expect((await second.schedules.list()).map(({ id }) => id)).toEqual(['report.hourly']);
  });

  it.each([
    { what: 'is stopped', consumer: {} },
    { what: 'was never started', consumer: { autoStart: false } },
  ])('is not pruned by a process without its topic while the intake $what', async ({ consumer }) => {
    const { app, harness } = await reporting({ every: '1h' }, undefined, { consumer });
    const { module } = await boot({ imports: [DelayQueueModule.forRoot()] }, harness);
    const schedules = module.get(DelayQueueSchedules);
    await app.get(DelayQueueConsumers).stop('report');
    await harness.settle();
    expect(await schedules.prune()).toEqual([]);

    await app.close();
    expect(await schedules.prune()).toEqual(['report']);
  });

  it('has its messages tagged, as any other schedule', async () => {
    const rule = { every: '1h' as const, options: { tags: ['nightly'] } };
    const { app, harness, schedules } = await reporting(rule);
    await schedules.upsert({ id: 'report.more', topic: 'report', payload: null, ...rule });
    await harness.advance('59m 59s');

    for (const id of ['report', 'report.more']) {
      const occurrence = { id: `${id}@2026-01-01T01:00:00.000Z`, key: id };
      expect(await app.get(DelayQueueAdmin).get('report', occurrence)).toMatchObject({ tags: ['nightly'] });
    }
  });

  it.each([
    { what: 'a rule that cannot work', options: { cron: '61 * * * *' } },
    { what: 'no rule', options: {} },
    { what: 'an unknown option', options: { every: '1h', bach: 3 } as RecurringHandlerOptions },
  ])('fails the boot with its class and method for $what', async ({ options }) => {
    const booting = reporting(options);

    await expect(booting).rejects.toBeInstanceOf(ConfigurationError);
    await expect(booting).rejects.toThrow('@RecurringHandler on Reporter.report');
  });
});
