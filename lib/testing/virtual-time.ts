import { isDate } from '../checks/kinds.js';
import { type Duration, parseDuration } from '../time/duration.js';
import { describe } from '../checks/describe.js';
import { ManualClock } from './manual-clock.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { Activity } from './activity.js';

/**
 * Options of {@link DelayQueueHarness}.
 *
 * @publicApi
 */
export interface HarnessOptions {
  /** Time at the start; a number is epoch milliseconds. @defaultValue `Date.now()` */
  now?: Date | number;
  /**
   * Longest wait for a handler, in real time, at most 10 min. One that takes longer goes on, but time no longer stands still for it, so
   * that a test can see its timeout.
   *
   * @defaultValue 250
   */
  patience?: Duration;
  /**
   * Called with the time at the start, and with each time that the clock moves to, before anything is delivered at that time. It lets a
   * faked `Date` follow: `onTick: (now) => vi.setSystemTime(now)`. @defaultValue none
   */
  onTick?: (now: Date) => void;
}

const DEFAULT_PATIENCE = 250;
const LONGEST_PATIENCE = 10 * 60_000;

/** Moves a clock from timer to timer, each time as soon as everything is quiet, one move at a time. */
export class VirtualTime {
  readonly clock: ManualClock;
  readonly activity: Activity;
  #latest: Promise<void> = Promise.resolve();

  /** @throws InvalidArgumentError */
  constructor(options: HarnessOptions) {
    assertOptions('The harness options', options, ['now', 'patience', 'onTick']);
    const { now = Date.now(), patience = DEFAULT_PATIENCE, onTick = () => {} } = options;
    const begin = toEpoch('now', now);
    this.activity = new Activity(parseDuration('patience', patience, { max: LONGEST_PATIENCE }));
    this.clock = new ManualClock(begin, (time) => onTick(new Date(time)));
    onTick(new Date(begin));
  }

  /** @param target returns the time to move to, in epoch milliseconds; called when earlier moves are done */
  async moveTo(target: () => number): Promise<void> {
    await this.#afterOthers(async () => {
      const end = target();
      do await this.activity.quiet();
      while (this.clock.fireNext(end));
      this.clock.moveTo(end);
    });
  }

  /** Lets time run by itself until the work is done, which may wait for timers that would not fire otherwise. */
  async runDuring<T>(work: Promise<T>): Promise<T> {
    const hasEnded = probe(work);
    await this.#afterOthers(async () => {
      do await this.activity.quiet();
      while (!hasEnded() && this.clock.fireNext(Infinity));
    });
    return work;
  }

  #afterOthers(move: () => Promise<void>): Promise<void> {
    const moving = this.#latest.then(move);
    this.#latest = moving.catch(() => {});
    return moving;
  }
}

/** @throws InvalidArgumentError if it is no point in time */
export function toEpoch(name: string, value: unknown): number {
  const time = isDate(value) ? value.getTime() : value;
  if (typeof time !== 'number' || !Number.isFinite(time) || time < 0) {
    throw new InvalidArgumentError(`${name} must be a valid Date or epoch milliseconds. Given: ${describe(value)}.`);
  }
  return time;
}

/** Returns a function that tells whether a promise is settled. */
function probe(work: Promise<unknown>): () => boolean {
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  work.then(end, end);
  return () => ended;
}
