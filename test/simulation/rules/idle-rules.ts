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
  '{dq:audit}',
]);

/** What a partition knows of its topic, beside the messages that it places. */
const KEPT_PLACES = new Set(['mode', 'terms', 'relook', 'arrivals']);

/** The most calls in a second, on average, while nothing happens: of a process, and for a partition. */
const MOST_CALLS = { process: 8, partition: 0.8 };

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
   * @param fleet how many processes live, and how many partitions they have
   * @param calls how many there were until now
   */
  async check(
    fleet: { readonly processes: number; readonly partitions: number },
    calls: () => number,
    isBroken: () => boolean,
  ): Promise<void> {
    const { world, server, violated } = this.#options;
    await world.runUntil(isBroken, world.now + REST);
    const before = calls();
    await world.runUntil(isBroken, world.now + COUNTED);
    if (isBroken()) return;
    const rate = ((calls() - before) / COUNTED) * 1000;
    const { processes, partitions } = fleet;
    if (rate > MOST_CALLS.process * processes + MOST_CALLS.partition * partitions) {
      violated('idle', `${processes} processes make ${rate.toFixed(0)} calls a second with nothing to do`, []);
    }
    const left = server.data.keys.filter((key) => !this.#isKept(key));
    if (left.length > 0) violated('left', `${left.length} keys are left, such as ${left.slice(0, 5).join(', ')}`, left);
  }

  #isKept(key: string): boolean {
    const [, name = key] = /\}:([a-z]+)/.exec(key) ?? [];
    if (name !== 'places') return KEPT.has(name);
    const fields = this.#options.server.data.call('HKEYS', key) as readonly string[];
    return fields.every((field) => KEPT_PLACES.has(field));
  }
}
