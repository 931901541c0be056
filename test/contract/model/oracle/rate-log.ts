import type { RateLimit } from '../../../../lib/store/deliveries/limits.js';

/** If more may be granted within a window, times are rounded up, so that a log stays short. */
const MOST_TIMES = 128;

interface Entry {
  readonly time: number;
  count: number;
}

/** Until when deliveries that were granted may begin: see `lua/modules/rate-log.lua`. */
export class RateLog {
  #entries: Entry[] = [];

  /**
   * How many count against deliveries that begin at a time.
   *
   * @param begin epoch milliseconds, as is `now`; what counts for nobody any more by then is forgotten
   */
  used({ per }: RateLimit, begin: number, now: number): number {
    this.#entries = this.#entries.filter(({ time, count }) => time >= Math.floor(now) - per && count > 0);
    return this.#counting(per, begin).reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * @param by when they have begun, epoch milliseconds
   * @returns under what time that stands in the log
   */
  add(count: number, { max, per }: RateLimit, by: number): number {
    const grain = max > MOST_TIMES ? Math.ceil(per / MOST_TIMES) : 1;
    const time = Math.ceil(by / grain) * grain;
    const known = this.#entries.find((entry) => entry.time === time);
    if (known) known.count += count;
    else this.#entries = [...this.#entries, { time, count }].toSorted((a, b) => a.time - b.time);
    return time;
  }

  /** Takes back what stands under a time, at most so many. */
  giveBack(time: number, count = 1): boolean {
    const entry = this.#entries.find((one) => one.time === time && one.count > 0);
    if (entry) entry.count -= Math.min(count, entry.count);
    return entry !== undefined;
  }

  /** All that is known. */
  get total(): number {
    return this.#entries.reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * The earliest time that counts against deliveries that begin at a time, or the last one that is no later by more than `gather`, in milliseconds;
   * `undefined` if none does.
   */
  opens({ per }: RateLimit, begin: number, gather: number): number | undefined {
    const counting = this.#counting(per, begin);
    return counting.findLast(({ time }) => time <= (counting[0]?.time ?? 0) + gather)?.time;
  }

  /**
   * When one more may begin of which none may at a time, if that is soon; else that time.
   *
   * @param slack how soon, in milliseconds
   */
  opensBy({ max, per }: RateLimit, begin: number, slack: number): number {
    const counting = this.#counting(per, begin);
    let used = counting.reduce((sum, { count }) => sum + count, 0);
    let opensAt = begin;
    for (const { time, count } of counting) {
      if (used < max || time + per + 1 > begin + slack) break;
      opensAt = time + per + 1;
      used -= count;
    }
    return opensAt;
  }

  /** When so many may have begun, if all are taken as soon as they come free; `undefined` if nothing was granted. */
  timeOfFree(count: number, { per }: RateLimit, begin: number): number | undefined {
    const counting = this.#counting(per, begin);
    const total = counting.reduce((all, entry) => all + entry.count, 0);
    if (total === 0) return undefined;
    const rounds = Math.floor((count - 1) / total);
    let sum = 0;
    for (const { time, count: granted } of counting) {
      sum += granted;
      if (sum >= count - rounds * total) return time + (rounds + 1) * (per + 1);
    }
    return undefined;
  }

  #counting(per: number, begin: number): readonly Entry[] {
    return this.#entries.filter(({ time, count }) => time >= begin - per && count > 0);
  }
}
