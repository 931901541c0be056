import type { ScheduleRule } from '../../../lib/schedules/schedule.interface.js';
import type { SeededRandom } from '../../support/random.js';

/** The rule of a schedule, and what it means, said in another way than the product does. */
export interface Recurrence {
  readonly given: ScheduleRule;
  /** Occurrences are at this time, at whole steps from it, or at some of them. Epoch and milliseconds; `undefined`: it is told when it is stored. */
  readonly phase: number | undefined;
  readonly step: number;
  readonly isMeant: (time: number) => boolean;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** The numbers of a clock on the wall. */
interface WallClock {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** Cron expressions that occur often after midnight of UTC, what they mean, and how far their time zone is ahead, in minutes. */
const CRONS: readonly (ScheduleRule & { readonly ahead?: number; readonly isMeant: (clock: WallClock) => boolean })[] =
  [
    { cron: '* * * * * *', isMeant: () => true },
    { cron: '*/2 * * * * *', isMeant: ({ second }) => second % 2 === 0 },
    { cron: '5-50/15 * * * * *', isMeant: ({ second }) => [5, 20, 35, 50].includes(second) },
    { cron: '1,2,30 */2 * * * *', isMeant: ({ second, minute }) => [1, 2, 30].includes(second) && minute % 2 === 0 },
    {
      cron: '*/3 30-59 5 * * *',
      timeZone: 'Asia/Kolkata',
      ahead: 330,
      isMeant: ({ second, minute, hour }) => second % 3 === 0 && minute >= 30 && hour === 5,
    },
    {
      cron: '*/4 * 18,19 * * *',
      timeZone: 'America/Chicago',
      ahead: -360,
      isMeant: ({ second, hour }) => second % 4 === 0 && (hour === 18 || hour === 19),
    },
  ];

/** How often intervals occur, how far off their bounds are, in milliseconds. */
const SHORTEST = 300;
const LONGEST = 4000;
const BOUND = 20_000;

/** @param now the clock of Redis */
export function drawRecurrence(random: SeededRandom, now: number): Recurrence {
  const bounds = {
    ...(random.next() < 0.3 && { startAt: Math.round(now + random.between(-BOUND, BOUND / 4)) }),
    ...(random.next() < 0.2 && { endAt: Math.round(now + random.between(BOUND / 4, BOUND)) }),
  };
  const { startAt, endAt = Infinity } = bounds;
  const isWithin = (time: number): boolean => time >= (startAt ?? 0) && time <= endAt;
  if (random.next() < 0.5) {
    const every = random.integer(SHORTEST, LONGEST);
    return { given: { every, ...bounds }, phase: startAt, step: every, isMeant: isWithin };
  }
  const { ahead = 0, isMeant, ...rule } = random.pick(CRONS);
  return {
    given: { ...rule, ...bounds },
    phase: 0,
    step: SECOND,
    isMeant: (time) => isWithin(time) && isMeant(wallClock(time + ahead * MINUTE)),
  };
}

export function occursAt(recurrence: Recurrence, time: number): boolean {
  const { phase, step, isMeant } = recurrence;
  return phase !== undefined && (time - phase) % step === 0 && isMeant(time);
}

/** From one time to another, both included. */
export function* occurrencesOf(recurrence: Recurrence, from: number, until: number): Generator<number, void> {
  const { phase, step, isMeant } = recurrence;
  if (phase === undefined) return;
  const first = phase + Math.ceil((from - phase) / step) * step;
  for (let time = first; time <= until; time += step) if (isMeant(time)) yield time;
}

function wallClock(time: number): WallClock {
  const date = new Date(time);
  return { hour: date.getUTCHours(), minute: date.getUTCMinutes(), second: date.getUTCSeconds() };
}
