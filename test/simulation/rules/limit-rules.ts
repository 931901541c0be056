import type { TestedLimits } from '../../fleet/faults/history/limits.js';
import { LEASE } from '../fleet/topics.js';
import { type RuleOptions, type Run, TIMER_ERROR, isCurrent } from './run.js';

/** How long permits may count that Redis has forgotten, in milliseconds. */
export const FORGOTTEN = 2 * LEASE;

/** No more handlers run at once, and no more begin within a time, than may. */
export class LimitRules {
  readonly #options: RuleOptions;
  /** Runs that have not ended, by topic, and by topic and key. */
  readonly #running = new Map<string, Set<Run>>();
  /** When the latest began, by the same. World time. */
  readonly #begins = new Map<string, number[]>();
  #from = -Infinity;

  constructor(options: RuleOptions) {
    this.#options = options;
  }

  begin(run: Run, { maxInFlight, rateLimit }: TestedLimits): void {
    const { topic, key } = run;
    if (maxInFlight) {
      this.#add(run, topic, maxInFlight.topic);
      this.#add(run, `${topic} ${key}`, maxInFlight.key);
    }
    if (rateLimit) this.#note(run, rateLimit.by === 'key' ? `${topic} ${key}` : topic, rateLimit);
  }

  end(run: Run): void {
    this.#running.get(run.topic)?.delete(run);
    this.#running.get(`${run.topic} ${run.key}`)?.delete(run);
  }

  /** Redis has forgotten what it had permitted, or counts by another time. */
  redisLost(): void {
    this.#from = this.#options.world.now + FORGOTTEN;
  }

  #add(run: Run, name: string, most: number | undefined): void {
    if (most === undefined) return;
    const all = this.#running.get(name) ?? new Set();
    this.#running.set(name, all.add(run));
    for (const one of all) if (one.process.isDead) all.delete(one);
    if (countOf(all) <= most) return;
    const together = [...all];
    this.#options.world.after(TIMER_ERROR, () => {
      const count = countOf(together);
      if (count > most) this.#violated('in-flight', `${count} of ${name} run at once, and ${most} may`, run);
    });
  }

  #note(run: Run, name: string, { max, per }: { readonly max: number; readonly per: number }): void {
    const begins = this.#begins.get(name) ?? [];
    this.#begins.set(name, begins);
    begins.push(run.begunAt);
    if (begins.length > max + 1) begins.shift();
    const [first = 0] = begins;
    if (begins.length <= max || first < this.#from || run.begunAt - first >= per - TIMER_ERROR) return;
    this.#violated('rate', `${max + 1} of ${name} begin within ${Math.round(run.begunAt - first)} ms`, run);
  }

  #violated(rule: string, text: string, { id, topic, process }: Run): void {
    if (this.#options.world.now > this.#from) this.#options.violated(rule, text, [id, topic, process.name]);
  }
}

function countOf(runs: Iterable<Run>): number {
  let count = 0;
  // A process that is gone or stands still renews no permit, whoever has the message.
  for (const run of runs) if (isCurrent(run) && isCurrent({ ...run, ...run.permit })) count++;
  return count;
}
