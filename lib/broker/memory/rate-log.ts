import type { RateLimit } from '../broker.interface.js';
import { windowOf } from '../broker.interface.js';

/** If more may be granted within a window, times are rounded up, so that a log stays short. */
const MOST_TIMES = 128;

interface Entry {
  readonly time: number;
  count: number;
}

/** When deliveries were granted: see `lua/includes/rate-log.lua`. */
export class RateLog {
  #entries: Entry[] = [];

  /** How many were granted within the window; forgets the others. */
  used(limit: RateLimit, now: number): number {
    const since = Math.floor(now) - windowOf(limit);
    this.#entries = this.#entries.filter(({ time, count }) => time >= since && count > 0);
    return this.total;
  }

  /** @returns under what time that stands in the log */
  add(count: number, limit: RateLimit, now: number): number {
    const grain = limit.max > MOST_TIMES ? Math.ceil(windowOf(limit) / MOST_TIMES) : 1;
    const time = Math.ceil(Math.ceil(now) / grain) * grain;
    const last = this.#entries.at(-1);
    if (last?.time === time) last.count += count;
    else this.#entries.push({ time, count });
    return time;
  }

  /** Takes back what stands under a time, at most so many. */
  giveBack(time: number, count = 1): boolean {
    const entry = this.#entries.find((one) => one.time === time && one.count > 0);
    if (entry) entry.count -= Math.min(count, entry.count);
    return entry !== undefined;
  }

  get total(): number {
    return this.#entries.reduce((sum, { count }) => sum + count, 0);
  }

  /** The earliest time; `undefined` if nothing was granted. */
  get first(): number | undefined {
    return this.#entries[0]?.time;
  }

  /** When so many will have come free, if all are taken as soon as they do; `undefined` if nothing was granted. */
  timeOfFree(count: number, limit: RateLimit): number | undefined {
    const { total } = this;
    if (total === 0) return undefined;
    const rounds = Math.floor((count - 1) / total);
    let sum = 0;
    for (const { time, count: granted } of this.#entries) {
      sum += granted;
      if (sum >= count - rounds * total) return time + (rounds + 1) * (windowOf(limit) + 1);
    }
    return undefined;
  }
}
