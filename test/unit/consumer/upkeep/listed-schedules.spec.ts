import { beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { ListedSchedules } from '../../../../lib/consumer/upkeep/schedule-runner.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const PARTITION = { topic: 'reports', index: 0 };
const HERE = { topic: 'reports', key: 'k' };

describe('the list of schedules', () => {
  let broker: EmbeddedBroker;
  let listed: ListedSchedules;

  beforeEach(async () => {
    const clock = new ManualClock(1_000_000);
    broker = new EmbeddedBroker(clock);
    listed = new ListedSchedules({ broker, clock }, PARTITION);
    const content = { definition: '{}', envelope: '[1,null]' };
    await broker.schedules.putSchedule(
      PARTITION,
      { caller: 'test', sequence: 1 },
      { id: 'daily', expected: undefined, state: 's', content, nextAt: 2_000_000 },
    );
  });

  const stored = async () => (await broker.schedules.getSchedules(PARTITION, ['daily']))[0];

  it('is left alone if it leads here', async () => {
    await broker.schedules.indexSchedule({ id: 'daily', ...HERE });
    expect(await listed.check('daily', 'k')).toBeUndefined();
    expect(await stored()).toBeDefined();
  });

  it('gets an entry that it has lost', async () => {
    await listed.check('daily', 'k');
    expect(await broker.schedules.findSchedule({ id: 'daily' })).toEqual(HERE);
  });

  it.each([
    { topic: 'others', key: 'k' },
    { topic: 'reports', key: 'another' },
  ])('has what it does not lead to removed: %o', async (place) => {
    await broker.schedules.indexSchedule({ id: 'daily', ...place });
    expect(await listed.check('daily', 'k')).toBe(place.topic);
    expect(await stored()).toBeUndefined();
    expect(await broker.schedules.findSchedule({ id: 'daily' })).toEqual(place);
  });
});
