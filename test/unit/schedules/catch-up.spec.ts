import { describe, expect, it } from 'vitest';
import { MOST_LATE, nextStep } from '../../../lib/schedules/catch-up.js';
import type { StoredRule } from '../../../lib/schedules/recurrence.js';
import type { ScheduleRecord } from '../../../lib/schedules/schedule-record.js';

const SECOND = 1000;
const EVERY_SECOND: StoredRule = { every: SECOND, anchor: 0, startAt: undefined, endAt: undefined };

function schedule(catchUp: ScheduleRecord['catchUp'], rule = EVERY_SECOND): ScheduleRecord {
  return {
    id: 'tick',
    rule,
    catchUp,
    overlap: 'allow',
    key: 'tick',
    declared: false,
    state: { paused: false, next: undefined, last: undefined, missed: 0 },
    stored: { id: 'tick', state: '', definition: '', envelope: '' },
  };
}

describe('nextStep', () => {
  it.each(['none', 'latest', 'all'] as const)('publishes what is due now, and what is a little late: %s', (catchUp) => {
    for (const late of [0, 400, 5 * SECOND, MOST_LATE]) {
      expect(nextStep(schedule(catchUp), 60 * SECOND, 60 * SECOND + late)).toEqual({
        publish: 60 * SECOND,
        next: 61 * SECOND,
        missed: undefined,
      });
    }
  });

  it.each(['none', 'latest'] as const)('leaves out what is later, and goes on with the rest: %s', (catchUp) => {
    expect(nextStep(schedule(catchUp), 60 * SECOND, 90_500)).toEqual({
      publish: undefined,
      next: 71 * SECOND,
      missed: { first: 60 * SECOND, last: 70 * SECOND, count: 11 },
    });
  });

  it('publishes none of an outage with none, and the last one with latest', () => {
    const hourly = { every: 3600 * SECOND, anchor: 0, startAt: undefined, endAt: undefined };
    const [first, now] = [3600 * SECOND, 4 * 3600 * SECOND - MOST_LATE];
    expect(nextStep(schedule('none', hourly), first, now)).toEqual({
      publish: undefined,
      next: 4 * 3600 * SECOND,
      missed: { first, last: 3 * 3600 * SECOND, count: 3 },
    });
    expect(nextStep(schedule('latest', hourly), first, now)).toEqual({
      publish: 3 * 3600 * SECOND,
      next: 4 * 3600 * SECOND,
      missed: { first, last: 2 * 3600 * SECOND, count: 2 },
    });
  });

  it('misses nothing with latest if there was one', () => {
    const daily = { every: 86_400 * SECOND, anchor: 0, startAt: undefined, endAt: undefined };
    expect(nextStep(schedule('latest', daily), 86_400 * SECOND, 86_500 * SECOND)).toEqual({
      publish: 86_400 * SECOND,
      next: 2 * 86_400 * SECOND,
      missed: undefined,
    });
  });

  it('publishes one after the other with all', () => {
    expect(nextStep(schedule('all'), 60 * SECOND, 90_500)).toEqual({
      publish: 60 * SECOND,
      next: 61 * SECOND,
      missed: undefined,
    });
  });

  it('does not go past the end', () => {
    const ending = { ...EVERY_SECOND, endAt: 70_500 };
    expect(nextStep(schedule('latest', ending), 60 * SECOND, 100_500)).toEqual({
      publish: 70 * SECOND,
      next: undefined,
      missed: { first: 60 * SECOND, last: 69 * SECOND, count: 10 },
    });
    expect(nextStep(schedule('none', ending), 60 * SECOND, 100_500)).toMatchObject({
      publish: undefined,
      next: undefined,
    });
    expect(nextStep(schedule('all', ending), 70 * SECOND, 90_500)).toMatchObject({
      publish: 70 * SECOND,
      next: undefined,
    });
  });
});
