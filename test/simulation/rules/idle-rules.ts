import type { RuleOptions } from './run.js';

/** The keys that a fleet keeps although it has nothing to do, by what stands behind their hash tags. */
const KEPT = new Set([
  'config',
  'permits',
  'owner',
  'meta',
  'sessions',
  'handled',
  'topics',
  'processes',
  'holdings',
  'schedules',
  'occurrences',
  'work',
  'audit',
]);

/** What a partition knows of its topic, beside the messages that it places. */
const KEPT_PLACES = new Set(['mode', 'terms', 'relook', 'arrivals']);

/** The most calls of a process in a second, on average, while nothing happens. */
const MOST_CALLS = 12;

/** How long nothing happens until it is looked what is left, and how long calls are counted then, in milliseconds. */
const REST = 3 * 60_000;
const COUNTED = 60_000;

/** Nothing is left behind by what is done, and a fleet with nothing to do hardly calls Redis. */
export class IdleRules {
  readonly #options: RuleOptions;

  constructor(options: RuleOptions) {
    this.#options = options;
  }

  /**
   * @param processes that live
   * @param calls how many there were until now
   */
  async check(processes: number, calls: () => number, isBroken: () => boolean): Promise<void> {
    const { world, server, violated } = this.#options;
    await world.runUntil(isBroken, world.now + REST);
    const before = calls();
    await world.runUntil(isBroken, world.now + COUNTED);
    if (isBroken()) return;
    const rate = ((calls() - before) / COUNTED) * 1000;
    if (rate > MOST_CALLS * processes) {
      violated('idle', `${processes} processes make ${rate.toFixed(0)} calls a second with nothing to do`, []);
    }
    const left = server.data.keys.filter((key) => !this.#isKept(key));
    if (left.length > 0) violated('left', `${left.length} keys are left, such as ${left.slice(0, 5).join(', ')}`, left);
  }

  #isKept(key: string): boolean {
    const [, name = ''] = /\}:([a-z]+)/.exec(key) ?? /:([a-z]+)\}$/.exec(key) ?? [];
    if (name !== 'places') return KEPT.has(name);
    const fields = this.#options.server.data.call('HKEYS', key) as readonly string[];
    return fields.every((field) => KEPT_PLACES.has(field));
  }
}
