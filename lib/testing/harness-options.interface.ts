import type { Duration } from '../time/duration.js';

/**
 * Options of {@link DelayQueueHarness}.
 *
 * @publicApi
 */
export interface HarnessOptions {
  /** When time begins; a number is epoch milliseconds. @defaultValue `Date.now()` */
  now?: Date | number;
  /**
   * How long a handler is waited for, in real time. One that takes longer goes on, but time does not stand still for it:
   * how else could a test see its timeout? @defaultValue 250
   */
  patience?: Duration;
  /**
   * Told of each time that the clock moves to, before anything is delivered at that time, and of the beginning. For a faked
   * `Date` that follows: `onTick: (now) => vi.setSystemTime(now)`. @defaultValue none
   */
  onTick?: (now: Date) => void;
}
