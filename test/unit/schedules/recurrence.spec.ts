import { describe, expect, it, vi } from 'vitest';
import { MOST_COUNTED, Recurrence, type StoredRule } from '../../../lib/schedules/recurrence.js';
import { SeededRandom } from '../../support/random.js';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const UNBOUNDED = { startAt: undefined, endAt: undefined };

function at(text: string): number {
  return Date.parse(text);
}

function cron(expression: string, timeZone = 'Europe/Berlin', bounds: Partial<StoredRule> = {}): Recurrence {
  return new Recurrence({ cron: expression, timeZone, ...UNBOUNDED, ...bounds });
}

function interval(every: number, anchor: number, bounds: Partial<StoredRule> = {}): Recurrence {
  return new Recurrence({ every, anchor, ...UNBOUNDED, ...bounds });
}

function ruleEvery(milliseconds: number): StoredRule {
  return { every: milliseconds, anchor: 0, ...UNBOUNDED };
}

/** The next occurrences, as they are in UTC. */
function list(recurrence: Recurrence, from: string, count: number): string[] {
  const times: string[] = [];
  for (
    let time = recurrence.from(at(from));
    time !== undefined && times.length < count;
    time = recurrence.after(time)
  ) {
    times.push(new Date(time).toISOString().replace('.000Z', 'Z'));
  }
  return times;
}

describe('an interval', () => {
  it('counts from when it was first stored, and begins one interval later', () => {
    const recurrence = interval(90_000, at('2026-01-01T00:00:10Z'));
    expect(list(recurrence, '2025-01-01T00:00:00Z', 3)).toEqual([
      '2026-01-01T00:01:40Z',
      '2026-01-01T00:03:10Z',
      '2026-01-01T00:04:40Z',
    ]);
    expect(list(recurrence, '2026-01-01T00:03:11Z', 1)).toEqual(['2026-01-01T00:04:40Z']);
  });

  it('counts from startAt, which is the first occurrence, and ends with endAt', () => {
    const bounds = { startAt: at('2026-01-01T12:00:00Z'), endAt: at('2026-01-01T14:00:00Z') };
    const recurrence = interval(HOUR, 5, bounds);
    const all = ['2026-01-01T12:00:00Z', '2026-01-01T13:00:00Z', '2026-01-01T14:00:00Z'];
    expect(list(recurrence, '2025-01-01T00:00:00Z', 9)).toEqual(all);
    expect(recurrence.from(at('2026-01-01T14:00:00.001Z'))).toBeUndefined();
    expect(recurrence.lastUntil(bounds.startAt, at('2027-01-01T00:00:00Z'))).toBe(bounds.endAt);
  });

  it('is as long through summer time', () => {
    const recurrence = interval(24 * HOUR, 0, { startAt: at('2026-03-28T05:00:00Z') });
    expect(list(recurrence, '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T05:00:00Z',
      '2026-03-29T05:00:00Z',
      '2026-03-30T05:00:00Z',
    ]);
  });

  it('is counted at once, however many there are', () => {
    const recurrence = interval(100, 0);
    const last = recurrence.lastUntil(100, 365 * 24 * HOUR + 50);
    expect(last).toBe(365 * 24 * HOUR);
    expect(recurrence.count(100, last)).toBe(10 * 365 * 24 * 3600);
  });
});

describe('a rule that is stored', () => {
  it('is read once, and again when a thousand others have come', () => {
    const first = Recurrence.of(ruleEvery(SECOND));
    expect(Recurrence.of(ruleEvery(SECOND))).toBe(first);
    for (let i = 1; i <= 1000; i++) Recurrence.of(ruleEvery(SECOND + i));
    expect(Recurrence.of(ruleEvery(SECOND))).not.toBe(first);
  });
});

describe('a cron expression', () => {
  it('has five fields, or six with the seconds first', () => {
    expect(list(cron('0 6 * * 1-5', 'UTC'), '2026-01-02T06:00:00Z', 3)).toEqual([
      '2026-01-02T06:00:00Z',
      '2026-01-05T06:00:00Z',
      '2026-01-06T06:00:00Z',
    ]);
    expect(list(cron('*/20 * * * * *', 'UTC'), '2026-01-02T06:00:00.001Z', 2)).toEqual([
      '2026-01-02T06:00:20Z',
      '2026-01-02T06:00:40Z',
    ]);
    expect(list(cron('@daily'), '2026-01-02T06:00:00Z', 1)).toEqual(['2026-01-02T23:00:00Z']);
  });

  it('answers the time itself if it is one, to the millisecond', () => {
    const recurrence = cron('0 6 * * *', 'UTC');
    expect(recurrence.from(at('2026-01-02T06:00:00Z'))).toBe(at('2026-01-02T06:00:00Z'));
    expect(recurrence.from(at('2026-01-02T06:00:00Z') - 0.5)).toBe(at('2026-01-02T06:00:00Z'));
    expect(recurrence.from(at('2026-01-02T06:00:00.001Z'))).toBe(at('2026-01-03T06:00:00Z'));
    expect(recurrence.after(at('2026-01-02T06:00:00Z'))).toBe(at('2026-01-03T06:00:00Z'));
  });

  it('follows the clocks of its time zone, with an occurrence a day through both changes', () => {
    expect(list(cron('0 6 * * *'), '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T05:00:00Z',
      '2026-03-29T04:00:00Z',
      '2026-03-30T04:00:00Z',
    ]);
    expect(list(cron('0 6 * * *'), '2026-10-24T00:00:00Z', 3)).toEqual([
      '2026-10-24T04:00:00Z',
      '2026-10-25T05:00:00Z',
      '2026-10-26T05:00:00Z',
    ]);
  });

  it('occurs as soon as the clocks are put forward, if its time does not exist', () => {
    expect(list(cron('30 2 * * *'), '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T01:30:00Z',
      '2026-03-29T01:00:00Z',
      '2026-03-30T00:30:00Z',
    ]);
    // Both are left out on that day, and occur together; 14:00 exists.
    expect(list(cron('15,45 2,14 * * *'), '2026-03-28T22:00:00Z', 3)).toEqual([
      '2026-03-29T01:00:00Z',
      '2026-03-29T12:15:00Z',
      '2026-03-29T12:45:00Z',
    ]);
  });

  it('occurs once, the first time, if its time exists twice', () => {
    expect(list(cron('30 2 * * *'), '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00Z',
      '2026-10-26T01:30:00Z',
    ]);
    expect(list(cron('15 2,14 * * *'), '2026-10-24T22:00:00Z', 3)).toEqual([
      '2026-10-25T00:15:00Z',
      '2026-10-25T13:15:00Z',
      '2026-10-26T01:15:00Z',
    ]);
  });

  it('goes on through the hour that exists twice, and that which does not, if it occurs in each hour', () => {
    expect(list(cron('*/30 * * * *'), '2026-10-24T23:40:00Z', 6)).toEqual([
      '2026-10-25T00:00:00Z',
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:00:00Z',
      '2026-10-25T01:30:00Z',
      '2026-10-25T02:00:00Z',
      '2026-10-25T02:30:00Z',
    ]);
    expect(list(cron('*/30 * * * *'), '2026-03-29T00:10:00Z', 4)).toEqual([
      '2026-03-29T00:30:00Z',
      '2026-03-29T01:00:00Z',
      '2026-03-29T01:30:00Z',
      '2026-03-29T02:00:00Z',
    ]);
  });

  it('keeps within startAt and endAt', () => {
    const bounds = { startAt: at('2026-01-02T05:00:00Z'), endAt: at('2026-01-03T05:00:00Z') };
    const recurrence = cron('0 6 * * *', 'Europe/Berlin', bounds);
    expect(list(recurrence, '2025-01-01T00:00:00Z', 9)).toEqual(['2026-01-02T05:00:00Z', '2026-01-03T05:00:00Z']);
    expect(recurrence.lastUntil(bounds.startAt, at('2026-06-01T00:00:00Z'))).toBe(bounds.endAt);
  });

  it('is counted up to a limit', () => {
    const recurrence = cron('* * * * * *', 'UTC');
    expect(recurrence.count(0, 9 * SECOND)).toBe(10);
    expect(recurrence.count(0, 0)).toBe(1);
    expect(recurrence.count(0, 2 * MOST_COUNTED * SECOND)).toBe(MOST_COUNTED);
  });

  it.each(['0 6 * * *', '*/7 * * * *', '0 0 1 * *', '*/10 2,3 * * 0', '*/15 * 6 * * *'])(
    'finds the last occurrence of a time that has passed as if it went through all of them: %s',
    (expression) => {
      const random = new SeededRandom(1);
      const recurrence = cron(expression);
      for (let i = 0; i < 10; i++) {
        const first = recurrence.from(at('2026-03-01T00:00:00Z') + random.integer(0, 300 * 24) * HOUR) as number;
        const until = first + random.integer(0, 10 * HOUR);
        let expected = first;
        for (let next = recurrence.after(first); next !== undefined && next <= until; next = recurrence.after(next)) {
          expected = next;
        }
        expect(recurrence.lastUntil(first, until)).toBe(expected);
      }
    },
  );

  it.each([
    '* * * * *',
    '*/7 * * * *',
    '15,45 */3 * * *',
    '30 2 * * *',
    '5-20/3 8-17 * * 1-5',
    '*/20 30 * * * *',
    '@hourly',
  ])('counts them as if it went through all of them, through changes of the clocks too: %s', (expression) => {
    const random = new SeededRandom(2);
    for (const zone of ['Europe/Berlin', 'Asia/Kathmandu', 'Australia/Lord_Howe']) {
      const recurrence = cron(expression, zone);
      for (const begin of ['2026-03-27T00:00:00Z', '2026-10-23T00:00:00Z', '2026-06-01T00:00:00Z']) {
        const first = recurrence.from(at(begin) + random.integer(0, 72) * HOUR) as number;
        const last = recurrence.lastUntil(first, first + random.integer(1, 60) * HOUR);
        let expected = 1;
        for (let time = first; time < last; time = recurrence.after(time) as number) expected++;
        expect(recurrence.count(first, last)).toBe(Math.min(expected, MOST_COUNTED));
      }
    }
  });

  it.each([
    { expression: '* * * * *', from: '2026-06-01T22:00:00Z', to: '2026-06-02T14:00:00Z', times: 961, steps: 17 },
    { expression: '*/5 * * * *', from: '2026-06-01T22:00:00Z', to: '2026-06-04T22:00:00Z', times: 865, steps: 4 },
    { expression: '* 8-17 * * *', from: '2026-06-01T06:00:00Z', to: '2026-06-02T06:00:00Z', times: 601, steps: 2 },
    { expression: '*/4 * * * * *', from: '2026-06-01T10:00:00Z', to: '2026-06-01T11:00:00Z', times: 901, steps: 2 },
  ])('counts whole days and hours in one step each: $expression', ({ expression, from, to, times, steps }) => {
    const recurrence = cron(expression);
    const step = vi.spyOn(recurrence, 'from');
    expect(recurrence.count(at(from), at(to))).toBe(times);
    expect(step.mock.calls.length).toBeLessThanOrEqual(steps);
  });

  it.each([
    '',
    'daily',
    '* * * *',
    '* * * * * * *',
    '0 0 1 1 * 2030 *',
    '61 * * * *',
    '* 25 * * *',
    '*/0 * * * *',
    '2026-01-01T00:00:00',
  ])('is refused if it cannot be read: %j', (expression) => {
    expect(() => cron(expression)).toThrow(/^cron must be a cron expression of five or six fields/);
  });

  it.each([
    ['0 0 * 13 *', 'Invalid value for month: 13'],
    ['0 0 32 * *', 'Invalid value for day: 32'],
    ['61 * * * *', 'Invalid value for minute: 61'],
  ])('is refused with the number that it has: %j', (expression, reason) => {
    expect(() => cron(expression)).toThrow(reason);
  });

  it('is refused because of its time zone if that is what this machine does not know', () => {
    expect(() => new Recurrence({ ...UNBOUNDED, cron: '0 6 * * *', timeZone: 'Europe/Nowhere' })).toThrow(
      "timeZone must be a time zone of the IANA database, such as 'Europe/Berlin' or 'UTC'. Given: 'Europe/Nowhere'.",
    );
  });

  it('is refused if it never occurs', () => {
    expect(() => cron('0 0 30 2 *')).toThrow("cron has no time at which it occurs. Given: '0 0 30 2 *'.");
  });
});
