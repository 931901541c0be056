import type { Type } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { DelayQueueProducer } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { World, moduleWith } from '../../support/docs/schedulers.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';
import { type Declared, classIn } from '../../support/docs/run-block.js';
import { MINUTE, START } from '../../support/kit/kit-bed.js';

const HOUR = 60 * MINUTE;
/** Six in Berlin, on the first day of the tests. */
const SIX = 5 * HOUR;

/** What the application has before and after. */
interface Shop {
  place(orderId: string): void | Promise<void>;
  pay(orderId: string): void | Promise<void>;
}

export function fromNestjsSchedule(document: DrivenDocument): void {
  document.drive('Before #1', (runBefore) => {
    document.drive('After #1', (runAfter) => {
      bothApplications(runBefore, runAfter);
      document.drive('Change over at a time #1', (runChange) => changeOver(runBefore, runAfter, runChange));
      document.drive('Timeouts that are pending #1', (runTakeOver) => pending(runBefore, runAfter, runTakeOver));
    });
  });
}

function bothApplications(runBefore: Run, runAfter: Run): void {
  it('prints the same lines at the same times', async () => {
    const [before, after] = [await story(await runBefore()), await story(await runAfter())];

    expect(new Set(before.map((line) => line.slice(25)))).toEqual(
      new Set([
        'The report of yesterday',
        'The feed of prices',
        'The files are compact',
        'The cache is empty',
        'Order 42 is not paid',
      ]),
    );
    expect(after).toEqual(before);
  });

  it.each([
    { when: 'before', run: runBefore, reports: 3 },
    { when: 'after', run: runAfter, reports: 1 },
  ])('in three processes: $reports reports $when, and three times what each process does', async ({ run, reports }) => {
    const world = await World.begin();
    const { AppModule } = await appIn(run);
    for (let i = 0; i < 3; i++) await world.boot(AppModule);
    await world.reach(SIX);

    expect(world.times('report')).toEqual(Array.from({ length: reports }, () => '2026-01-01T05:00:00.000Z'));
    expect(world.times('cache')).toHaveLength(3 * 10);
  });

  it.each([
    {
      when: 'before',
      run: runBefore,
      reminders: [],
      compact: '01:35',
      feed: ['00:10', '00:20', '00:30', '00:45', '00:55'],
    },
    {
      when: 'after',
      run: runAfter,
      reminders: ['01:00'],
      compact: '01:00',
      feed: ['00:10', '00:20', '00:30', '00:40', '00:50'],
    },
  ])('$when, a restart after 35 minutes', async ({ run, reminders, compact, feed }) => {
    const world = await World.begin();
    const { AppModule, Shop } = await appIn(run);
    const first = await world.boot(AppModule);
    await first.get(Shop).place('42');
    await world.reach(35 * MINUTE);
    await first.close();
    await world.boot(AppModule);
    await world.reach(2 * HOUR);

    const clock = (text: string): string[] => world.times(text).map((time) => time.slice(11, 16));
    expect(clock('Order 42')).toEqual(reminders);
    expect(clock('files')).toEqual([compact]);
    expect(clock('feed').slice(0, 5)).toEqual(feed);
  });

  it.each([
    { when: 'before', run: runBefore, paid: 'No Timeout was found', reminders: 1 },
    { when: 'after', run: runAfter, paid: 'paid', reminders: 0 },
  ])('$when, an order that is paid in another process gets $reminders reminders', async ({ run, paid, reminders }) => {
    const world = await World.begin();
    const { AppModule, Shop } = await appIn(run);
    const [one, other] = [await world.boot(AppModule), await world.boot(AppModule)];
    await one.get(Shop).place('42');
    expect(await outcomeOf(() => other.get(Shop).pay('42'))).toContain(paid);
    await world.reach(2 * HOUR);

    expect(world.times('Order 42')).toHaveLength(reminders);
  });

  it('compacts files once for all processes, and again after a boot that comes later', async () => {
    const world = await World.begin();
    const { AppModule } = await appIn(runAfter);
    await world.boot(AppModule);
    await world.boot(AppModule);
    await world.reach(2 * HOUR);
    expect(world.times('files')).toEqual(['2026-01-01T01:00:00.000Z']);

    await world.boot(AppModule);
    await world.reach(4 * HOUR);
    expect(world.times('files').slice(1)).toEqual(['2026-01-01T03:00:00.000Z']);
  });

  it.each([
    { when: 'before', run: runBefore, reports: [] },
    { when: 'after', run: runAfter, reports: ['2026-01-01T05:30:00.000Z'] },
  ])('$when, with no process alive at six', async ({ run, reports }) => {
    const world = await World.begin();
    const { AppModule } = await appIn(run);
    const app = await world.boot(AppModule);
    await world.reach(SIX - 10 * MINUTE);
    await app.close();
    await world.reach(SIX + 30 * MINUTE);
    await world.boot(AppModule);
    await world.reach(SIX + HOUR);

    expect(world.times('report')).toEqual(reports);
  });
}

async function story(declared: Declared): Promise<string[]> {
  const world = await World.begin();
  const app = await world.boot(classIn(declared, 'AppModule'));
  const shop = app.get(classIn<Shop>(declared, 'Shop'));
  await world.reach(2 * HOUR);
  await shop.place('41');
  await shop.place('42');
  await world.reach(2.5 * HOUR);
  await shop.pay('41');
  await world.reach(72 * HOUR);
  await app.close();
  // What is due at the same time has no order.
  return world.printed().toSorted();
}

function changeOver(runBefore: Run, runAfter: Run, runChange: Run): void {
  it('is needed: with both versions at six there are two reports', async () => {
    const world = await World.begin();
    await world.boot((await appIn(runBefore)).AppModule);
    await world.boot((await appIn(runAfter)).AppModule);
    await world.reach(SIX);

    expect(world.times('report')).toHaveLength(2);
  });

  it('is needed: with a gap between the versions at six there is no report', async () => {
    const world = await World.begin();
    const old = await world.boot((await appIn(runBefore)).AppModule);
    await world.reach(SIX - MINUTE);
    await old.close();
    await world.reach(SIX + MINUTE);
    await world.boot((await appIn(runAfter)).AppModule);
    await world.reach(SIX + HOUR);

    expect(world.times('report')).toEqual([]);
  });

  it('changes nothing before the time, and sends one report a day from then on, in each rolling deployment', async () => {
    const world = await World.begin();
    const [before, after] = [(await appIn(runBefore)).AppModule, (await appIn(runAfter)).AppModule];
    const fleet = [await world.boot(before), await world.boot(before)];
    const roll = async (AppModule: Type, day: number): Promise<void> => {
      // One process is replaced before six, the other one after.
      for (const [i, hour] of [4, 6].entries()) {
        await world.reach((day * 24 + hour) * HOUR);
        const next = await world.boot(AppModule);
        await fleet[i]?.close();
        fleet[i] = next;
      }
    };
    await roll(moduleWith(classIn(await runChange(), 'Reports')), 1);
    await world.reach(4 * 24 * HOUR);
    await roll(after, 4);
    await world.reach(6 * 24 * HOUR);

    const days = ['01', '01', '02', '02', '03', '03', '04', '05', '06'];
    const times = days.map((day) => `2026-01-${day}T05:00:00.000Z`);
    expect(world.times('report')).toEqual(times);
  });

  it('sends it once more where an old process is left', async () => {
    const world = await World.begin();
    await world.boot((await appIn(runBefore)).AppModule);
    await world.boot(moduleWith(classIn(await runChange(), 'Reports')));
    await world.reach(3 * 24 * HOUR);
    const until = world.times('report').length;
    await world.reach(4 * 24 * HOUR);

    expect(world.times('report').slice(until)).toHaveLength(2);
  });

  it.each([
    { what: 'does not catch up what the old version has sent, if the schedule was removed', removed: true },
    { what: 'catches it up otherwise', removed: false },
  ])('$what', async ({ removed }) => {
    const world = await World.begin();
    const [before, change] = [(await appIn(runBefore)).AppModule, moduleWith(classIn(await runChange(), 'Reports'))];
    const replace = async (app: TestingModule, AppModule: Type, day: number): Promise<TestingModule> => {
      await world.reach((day * 24 + 12) * HOUR);
      await app.close();
      return world.boot(AppModule);
    };
    const changed = await world.boot(change);
    const back = await replace(changed, before, 0);
    const changedAgain = await replace(back, change, 1);
    const backAgain = await replace(changedAgain, before, 3);
    if (removed) await world.schedules.remove('report.daily');
    await replace(backAgain, change, 4);
    await world.reach(6 * 24 * HOUR);

    const caughtUp = removed ? [] : ['05T12:00'];
    const days = ['01T05:00', '02T05:00', '03T05:00', '04T05:00', '05T05:00', ...caughtUp, '06T05:00'];
    expect(world.times('report').map((time) => time.slice(8, 16))).toEqual(days);
  });
}

function pending(runBefore: Run, runAfter: Run, runTakeOver: Run): void {
  it('reminds of each order once, of what is overdue at once', async () => {
    const world = await World.begin();
    const [before, after] = [await appIn(runBefore), await appIn(runAfter)];
    const old = await world.boot(before.AppModule);
    await old.get(before.Shop).place('42');
    await world.reach(30 * MINUTE);
    await old.close();
    const app = await world.boot(after.AppModule);
    await app.get(after.Shop).place('43');
    const declared = await runTakeOver({ producer: app.get(DelayQueueProducer) });
    const takeOver = declared['takeOver'] as (unpaid: readonly { id: string; placedAt: Date }[]) => Promise<void>;
    const unpaid = [-120, 0, 30].map((minute, i) => ({
      id: String(41 + i),
      placedAt: new Date(START.getTime() + minute * MINUTE),
    }));
    await Promise.all([takeOver(unpaid), takeOver(unpaid)]);
    await world.reach(3 * HOUR);

    expect(world.printed('Order')).toEqual([
      '2026-01-01T00:30:00.000Z Order 41 is not paid',
      '2026-01-01T01:00:00.000Z Order 42 is not paid',
      '2026-01-01T01:30:00.000Z Order 43 is not paid',
    ]);
  });

  it('can not be cancelled by an old process once a new one has published them', async () => {
    const world = await World.begin();
    const [before, after] = [await appIn(runBefore), await appIn(runAfter)];
    const [old, app] = [await world.boot(before.AppModule), await world.boot(after.AppModule)];
    await app.get(after.Shop).place('42');
    await outcomeOf(() => old.get(before.Shop).pay('42'));
    await world.reach(2 * HOUR);

    expect(world.printed('Order')).toEqual(['2026-01-01T01:00:00.000Z Order 42 is not paid']);
  });
}

async function appIn(run: Run): Promise<{ AppModule: Type; Shop: Type<Shop> }> {
  const declared = await run();
  return { AppModule: classIn(declared, 'AppModule'), Shop: classIn<Shop>(declared, 'Shop') };
}

/** What a payment answers: that it is done, or why not. */
async function outcomeOf(pay: () => unknown): Promise<string> {
  try {
    await pay();
    return 'paid';
  } catch (error) {
    return String(error);
  }
}
