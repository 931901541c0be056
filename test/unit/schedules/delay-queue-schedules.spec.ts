import { describe, expect, it, vi } from 'vitest';
import type { ActionOptions } from '../../../lib/events/audit-log.js';
import { OPERATION } from '../../../lib/messages/operation.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { toStoredId } from '../../../lib/messages/stored-id.js';
import { DelayQueueSchedules } from '../../../lib/schedules/delay-queue.schedules.js';
import { TICK, dependenciesOf, setUp } from '../../support/units/schedules.js';

/** What the calls of a test are known by. */
const CALL = { caller: 'test', sequence: 1 };

describe('upsert', () => {
  it('leaves nothing behind if somebody else stores the id for another topic meanwhile', async () => {
    const world = setUp();
    world.around = async ({ operation, run }) => {
      const result = await run();
      if (operation !== 'putSchedule') return result;
      await world.embedded.schedules.unindexSchedule({ id: 'tick' });
      await world.embedded.schedules.indexSchedule({ id: 'tick', topic: 'others', key: 'tick' });
      return result;
    };
    await expect(world.schedules.upsert(TICK)).rejects.toThrow("exists with topic 'others'");
    const { partitions = 0 } = (await world.embedded.fleet.configOf('jobs')) ?? {};
    for (let index = 0; index < partitions; index++) {
      expect(await world.embedded.schedules.getSchedules({ topic: 'jobs', index }, ['tick'])).toEqual([undefined]);
    }
    expect(partitions).toBeGreaterThan(0);
  });
});

/**
 * A schedule whose latest occurrence was published so many milliseconds before its time, what is taken back from now on, and what is to come.
 *
 * @param before what is done to it before that
 */
async function publishedAhead(ahead: number, before?: (schedules: DelayQueueSchedules) => Promise<unknown>) {
  const world = setUp();
  const { schedules, embedded, clock } = world;
  const start = clock.now();
  const { partition } = await schedules.upsert(TICK);
  await before?.(schedules);
  const place = { topic: 'jobs', index: partition };
  const [stored] = await embedded.schedules.getSchedules(place, ['tick']);
  const last = start + 60_000;
  await clock.advance(60_000 - ahead);
  const state = `ahead active ${last + 60_000} ${last} 0`;
  await embedded.schedules.putSchedule(place, CALL, {
    id: 'tick',
    expected: stored?.state,
    state,
    nextAt: last + 60_000,
  });
  const cancelled: unknown[] = [];
  world.around = async ({ operation, args, run }) => {
    if (operation === 'cancel') cancelled.push(args[2]);
    return run();
  };
  const next = async (): Promise<number> =>
    Number((await embedded.schedules.getSchedules(place, ['tick']))[0]?.nextAt) - start;
  return { schedules, cancelled, next, last: toStoredId(`tick@${new Date(last).toISOString()}`, 'tick') };
}

describe('another rule', () => {
  it('counts from now on: what the earlier one has published ahead is taken back', async () => {
    const { schedules, cancelled, next, last } = await publishedAhead(1000);
    await schedules.upsert({ ...TICK, every: 700 });
    expect(await next()).toBe(59_500);
    expect(cancelled).toEqual([last]);
  });

  it('counts from what was published ahead if it has that, too', async () => {
    const { schedules, cancelled, next } = await publishedAhead(1000);
    await schedules.upsert({ ...TICK, every: 500 });
    expect(await next()).toBe(60_500);
    expect(cancelled).toEqual([]);
  });

  it('brings nothing again after the clock was set back', async () => {
    const { schedules, cancelled, next } = await publishedAhead(50_000);
    await schedules.upsert({ ...TICK, every: 700 });
    expect(await next()).toBe(60_200);
    expect(cancelled).toEqual([]);
  });
});

it('a pause brings nothing again after the clock was set back', async () => {
  const { schedules, next } = await publishedAhead(50_000);
  await schedules.pause('tick');
  await schedules.resume('tick');
  expect(await next()).toBe(120_000);
});

it.each(['pause', 'remove'] as const)(
  'a rule that this process cannot read keeps nobody from it: %s',
  async (change) => {
    const { schedules, embedded, clock } = setUp();
    const { partition } = await schedules.upsert(TICK);
    const place = { topic: 'jobs', index: partition };
    const [stored] = await embedded.schedules.getSchedules(place, ['tick']);
    const definition =
      stored?.definition.replace(/"every":.*?,"anchor":\d+/, '"cron":"? of later","timeZone":"UTC"') ?? '';
    // One occurrence was published ahead.
    const state = `later active ${clock.now() + 2000} ${clock.now() + 1000} 0`;
    const content = { definition, envelope: '[1,7]' };
    await embedded.schedules.putSchedule(place, CALL, {
      id: 'tick',
      expected: stored?.state,
      state,
      content,
      nextAt: clock.now() + 2000,
    });
    const cancelled: string[] = [];
    vi.spyOn(embedded.messages, 'cancel').mockImplementation(async (_, __, storedId) => {
      cancelled.push(storedId);
      return 'cancelled';
    });

    expect(await schedules.get('tick')).toMatchObject({ next: new Date(clock.now() + 1000) });
    expect(await schedules[change]('tick')).toBe(true);
    expect(cancelled).toEqual([expect.stringContaining('tick@')]);
  },
);

it.each(['pause', 'remove'] as const)('%s takes back what a pause before it could not', async (change) => {
  const world = setUp();
  const { schedules, embedded, clock } = world;
  const { partition, next } = await schedules.upsert(TICK);
  const place = { topic: 'jobs', index: partition };
  const [stored] = await embedded.schedules.getSchedules(place, ['tick']);
  await clock.advance(59_000);
  // That of the next second was published ahead.
  const state = `ahead active ${Number(next) + 60_000} ${Number(next)} 0`;
  await embedded.schedules.putSchedule(place, CALL, {
    id: 'tick',
    expected: stored?.state,
    state,
    nextAt: Number(next) + 60_000,
  });
  const cancelled: unknown[] = [];
  world.around = async ({ operation, args, run }) => {
    if (operation !== 'cancel') return run();
    if (cancelled.push(args[2]) === 1) throw new BrokerUnavailableError('gone', { transient: false });
    return run();
  };
  await expect(schedules.pause('tick')).rejects.toThrow('gone');
  expect(await schedules[change]('tick')).toBe(true);
  expect(cancelled).toEqual(Array(2).fill(toStoredId(`tick@${next?.toISOString()}`, 'tick')));
});

it('remove takes back what its owner may have published since it looked', async () => {
  const world = setUp();
  const { schedules, clock } = world;
  const { next } = await schedules.upsert(TICK);
  await clock.advance(59_000);
  const cancelled: unknown[] = [];
  world.around = async ({ operation, args, run }) => {
    if (operation === 'cancel') cancelled.push(args[2]);
    return run();
  };
  expect(await schedules.remove('tick')).toBe(true);
  expect(cancelled).toEqual([toStoredId(`tick@${next?.toISOString()}`, 'tick')]);
});

it('a pause that nobody waits for any more pauses nothing that was resumed since, by whomever', async () => {
  const world = setUp();
  const { schedules, embedded, clock } = world;
  await schedules.upsert(TICK);
  let late: (() => Promise<unknown>) | undefined;
  world.around = async ({ operation, run }) => {
    if (operation !== 'putSchedule') return run();
    late = run;
    throw new BrokerUnavailableError('gone', { transient: false });
  };
  await expect(schedules.pause('tick')).rejects.toThrow('gone');
  expect(await new DelayQueueSchedules(dependenciesOf(embedded, clock)).resume('tick')).toBe(true);
  expect(await late?.()).toBe(false);
  expect(await schedules.get('tick')).toMatchObject({ paused: false });
});

describe('made again under its name,', () => {
  const named = { [OPERATION]: 'of a request' } as ActionOptions;

  it('a pause pauses nothing that was resumed since, and takes nothing back of it', async () => {
    const { schedules, cancelled } = await publishedAhead(1000, async (some) => {
      await some.pause('tick', named);
      await some.resume('tick');
    });
    expect(await schedules.pause('tick', named)).toBe(true);
    expect(await schedules.get('tick')).toMatchObject({ paused: false });
    expect(cancelled).toEqual([]);
  });

  it('a resume resumes nothing that was paused since', async () => {
    const { schedules } = setUp();
    await schedules.upsert(TICK);
    await schedules.pause('tick');
    await schedules.resume('tick', named);
    await schedules.pause('tick');
    expect(await schedules.resume('tick', named)).toBe(true);
    expect(await schedules.get('tick')).toMatchObject({ paused: true });
  });
});

describe('the schedules that handlers declare', () => {
  it('are stored again after a loss of data if they are gone, and stay as they are if not', async () => {
    const { schedules, declared, clock } = setUp();
    await declared.start(['tick', 'tock'].map((id) => ({ where: 'Jobs', schedule: { ...TICK, id } })));
    // As another version of the application declares it.
    await schedules.upsert({ ...TICK, every: 90_000 });
    await schedules.remove('tock');
    declared.restore();
    await clock.advance(0);

    expect(await schedules.list()).toMatchObject([
      { id: 'tick', every: 90_000 },
      { id: 'tock', every: 60_000 },
    ]);
    await declared.stop();
  });
});

describe('the audit log', () => {
  it('has what an operator does with schedules, without payloads', async () => {
    const { schedules, admin, embedded, clock } = setUp();
    const by = { actor: 'ann' };
    await schedules.upsert({ ...TICK, payload: 'a secret', options: { headers: { secret: '1' } } }, by);
    await schedules.pause('tick', by);
    await schedules.resume('tick', by);
    const { id } = await schedules.runNow('tick', by);
    await schedules.remove('tick', by);
    await schedules.declare({ ...TICK, id: 'old' });
    const later = new DelayQueueSchedules({ ...dependenciesOf(embedded, clock), handled: () => new Set(['jobs']) });
    expect(await later.prune(by)).toEqual(['old']);

    const { entries } = await admin.audit();
    expect(entries.map(({ action, given }) => [action, given])).toEqual([
      ['pruneSchedule', { id: 'old' }],
      ['removeSchedule', { id: 'tick' }],
      ['runScheduleNow', { id: 'tick' }],
      ['resumeSchedule', { id: 'tick' }],
      ['pauseSchedule', { id: 'tick' }],
      ['upsertSchedule', { id: 'tick', every: 60_000 }],
    ]);
    for (const entry of entries) expect(entry).toMatchObject({ topic: 'jobs', actor: 'ann', phase: 'done' });
    expect([entries[2]?.result, entries[4]?.result]).toMatchObject([{ id }, true]);
    expect(JSON.stringify(await embedded.records.auditRecords({ limit: 200 }))).not.toContain('secret');
  });

  it('has nothing of what the application does, and of schedules that do not exist', async () => {
    const { schedules, admin } = setUp();
    await schedules.upsert(TICK);
    await schedules.declare({ ...TICK, id: 'declared' });
    for (const change of ['pause', 'resume', 'remove'] as const) {
      await schedules[change]('tick');
      expect(await schedules[change]('unknown', { actor: 'ann' })).toBe(false);
    }
    await expect(schedules.runNow('unknown', { actor: 'ann' })).rejects.toThrow("There is no schedule 'unknown'");
    expect((await admin.audit()).entries).toEqual([]);
  });

  it('takes only text as an actor, and no other options', async () => {
    const { schedules } = setUp();
    for (const options of [{ actor: '' }, { actor: 5 }, { actors: 'ann' }, null] as never[]) {
      await expect(schedules.upsert(TICK, options)).rejects.toThrow(InvalidArgumentError);
      await expect(schedules.prune(options)).rejects.toThrow(InvalidArgumentError);
      for (const change of ['pause', 'resume', 'remove', 'runNow'] as const) {
        await expect(schedules[change]('tick', options)).rejects.toThrow(InvalidArgumentError);
      }
    }
    expect(await schedules.list()).toEqual([]);
  });
});
