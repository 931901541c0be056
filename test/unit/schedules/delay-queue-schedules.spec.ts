import { describe, expect, it, vi } from 'vitest';
import { MemoryBroker } from '../../../lib/broker/memory/memory.broker.js';
import { type Around, wrapBroker } from '../../../lib/broker/wrap-broker.js';
import { DeclaredSchedules } from '../../../lib/schedules/declared-schedules.js';
import { DelayQueueSchedules } from '../../../lib/schedules/delay-queue.schedules.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { testContext, testRegistry } from '../../support/units/handling.js';

const TICK = { id: 'tick', topic: 'jobs', payload: 7, every: 60_000 };

/** Schedules on a broker in memory; a test may set what is done in the place of a call. */
function setUp() {
  const clock = new ManualClock();
  const memory = new MemoryBroker(clock);
  const world = { clock, memory, around: (async ({ run }) => run()) as Around };
  const context = testContext({ clock, broker: wrapBroker(memory, async (call) => world.around(call)) });
  const { broker: store, events, log } = context;
  const topics = testRegistry(context);
  const schedules = new DelayQueueSchedules({ store, topics, clock, events, timeout: 1000, handled: () => new Set() });
  return Object.assign(world, { schedules, declared: new DeclaredSchedules({ schedules, clock, log, events }) });
}

describe('upsert', () => {
  it('leaves nothing behind if somebody else stores the id for another topic meanwhile', async () => {
    const world = setUp();
    world.around = async ({ operation, run }) => {
      const result = await run();
      if (operation !== 'putSchedule') return result;
      await world.memory.unindexSchedule({ id: 'tick' });
      await world.memory.indexSchedule({ id: 'tick', topic: 'others', key: 'tick' });
      return result;
    };
    await expect(world.schedules.upsert(TICK)).rejects.toThrow("exists with topic 'others'");
    const { partitions = 0 } = (await world.memory.configOf('jobs')) ?? {};
    for (let index = 0; index < partitions; index++) {
      expect(await world.memory.getSchedules({ topic: 'jobs', index }, ['tick'])).toEqual([undefined]);
    }
    expect(partitions).toBeGreaterThan(0);
  });
});

it.each(['pause', 'remove'] as const)(
  'a rule that this process cannot read keeps nobody from it: %s',
  async (change) => {
    const { schedules, memory, clock } = setUp();
    const { partition } = await schedules.upsert(TICK);
    const place = { topic: 'jobs', index: partition };
    const [stored] = await memory.getSchedules(place, ['tick']);
    const definition =
      stored?.definition.replace(/"every":.*?,"anchor":\d+/, '"cron":"? of later","timeZone":"UTC"') ?? '';
    // One occurrence was published ahead.
    const state = `later active ${clock.now() + 2000} ${clock.now() + 1000} 0`;
    const content = { definition, envelope: '[1,7]' };
    await memory.putSchedule(place, {
      id: 'tick',
      expected: stored?.state,
      state,
      content,
      nextAt: clock.now() + 2000,
    });
    const cancelled: string[] = [];
    vi.spyOn(memory, 'cancel').mockImplementation(async (_, __, storedId) => {
      cancelled.push(storedId);
      return 'cancelled';
    });

    expect(await schedules[change]('tick')).toBe(true);
    expect(cancelled).toEqual([expect.stringContaining('tick@')]);
  },
);

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
