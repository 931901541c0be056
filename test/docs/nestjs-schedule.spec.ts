import { Injectable } from '@nestjs/common';
import { Cron, CronExpression, type CronOptions, Interval, SchedulerRegistry } from '@nestjs/schedule';
import { RecurringHandler } from 'nestjs-delay-queue';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { World, moduleWith } from '../support/docs/schedulers.js';
import { MINUTE, START, useKitBed } from '../support/kit/kit-bed.js';

useKitBed();

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('cron expressions of @nestjs/schedule', () => {
  it.each([
    ...Object.entries(CronExpression).map(([name, cron]) => ({ name, before: cron, after: cron })),
    { name: '5/15', before: '5/15 * * * *', after: '5-59/15 * * * *' },
  ])('have the same times as before: $name', async ({ before, after }) => {
    // Between two seconds: what is due now is the past for one, and not for the other.
    const world = await World.begin(new Date(START.getTime() + 500));
    const timeZone = 'Europe/Berlin';
    expect(await world.next({ cron: after, timeZone })).toEqual(await nextOf(world, before, { timeZone }));
  });

  it('have Etc/GMT-2 for an offset of 120', async () => {
    const world = await World.begin();
    const before = await nextOf(world, '0 6 * * *', { utcOffset: 120 });
    expect(await world.next({ cron: '0 6 * * *', timeZone: 'Etc/GMT-2' })).toEqual(before);
    expect(before[0]).toEqual(new Date('2026-01-01T04:00:00Z'));
  });

  it('are in UTC, where they were in the time zone of the process', async () => {
    vi.stubEnv('TZ', 'America/New_York');
    const world = await World.begin();
    expect((await nextOf(world, '0 6 * * *'))[0]).toEqual(new Date('2026-01-01T11:00:00Z'));
    expect((await world.next({ cron: '0 6 * * *' }))[0]).toEqual(new Date('2026-01-01T06:00:00Z'));
  });

  it.each(['@minutely', '@secondly', '@weekdays', '@weekends', '5/15 * * * *'])(
    'are refused, though they were not before: %s',
    async (cron) => {
      const world = await World.begin();
      await nextOf(world, cron);
      await expect(world.next({ cron })).rejects.toThrow('cron must be a cron expression');
    },
  );
});

/** The next five times of a `@Cron`. */
async function nextOf(world: World, expression: string, options: CronOptions = {}): Promise<Date[]> {
  @Injectable()
  class Jobs {
    @Cron(expression, { ...options, name: 'job' })
    run(): void {}
  }
  const app = await world.boot(moduleWith(Jobs));
  const times = app.get(SchedulerRegistry).getCronJob('job').nextDates(5);
  return times.map((time) => time.toJSDate());
}

describe('what differs from @nestjs/schedule, as the guide says', () => {
  it('runs once in the night in which the clocks go back', async () => {
    @Injectable()
    class Nights {
      @Cron('0 3 * * *', { timeZone: 'Europe/Berlin' })
      before(): void {
        console.log('before');
      }

      @RecurringHandler('night', { cron: '0 3 * * *', timeZone: 'Europe/Berlin' })
      after(): void {
        console.log('after');
      }
    }
    const world = await World.begin(new Date('2026-10-24T22:00:00Z'));
    await world.boot(moduleWith(Nights));
    await world.harness.advance('12h');

    expect(world.times('before')).toEqual(['2026-10-25T01:00:00.000Z', '2026-10-25T02:00:00.000Z']);
    expect(world.times('after')).toEqual(['2026-10-25T02:00:00.000Z']);
  });

  it('retries a job that throws, which was only logged before', async () => {
    @Injectable()
    class Failing {
      @Cron('0 6 * * *', { timeZone: 'Europe/Berlin' })
      before(): void {
        console.log('before');
        throw new Error('no paper');
      }

      @RecurringHandler('report.retried', { cron: '0 6 * * *', timeZone: 'Europe/Berlin' })
      retried(): void {
        console.log('retried');
        throw new Error('no paper');
      }

      @RecurringHandler('report.once', { cron: '0 6 * * *', timeZone: 'Europe/Berlin', attempts: 1 })
      once(): void {
        console.log('once');
        throw new Error('no paper');
      }
    }
    const world = await World.begin();
    await world.boot(moduleWith(Failing));
    await world.reach(6 * 60 * MINUTE);

    expect(['before', 'retried', 'once'].map((job) => world.times(job).length)).toEqual([1, 5, 1]);
    expect(['report.retried', 'report.once'].map((topic) => world.harness.deadLetters(topic).length)).toEqual([1, 1]);
    expect(world.logged).toContain('error Scheduler: Error: no paper');
  });

  it('waits for a job at a shutdown, up to 10 s, and not at all before', async () => {
    @Injectable()
    class Intervals {
      @Interval(1000)
      async job(): Promise<void> {
        console.log('before');
        await new Promise(() => {});
      }
    }
    @Injectable()
    class Schedules {
      @RecurringHandler('job', { every: '1s' })
      async job(): Promise<void> {
        console.log('after');
        await new Promise(() => {});
      }
    }
    const world = await World.begin();
    const [before, after] = [await world.boot(moduleWith(Intervals)), await world.boot(moduleWith(Schedules))];
    await world.harness.advance('1s');
    expect(world.printed()).toHaveLength(2);

    await before.close();
    expect(world.harness.now.getTime()).toBe(START.getTime() + 1000);
    await after.close();
    expect(world.harness.now.getTime()).toBe(START.getTime() + 11_000);
  });
});
