import type { Calm } from './calm.js';
import type { RuleOptions, Run } from './run.js';
import type { Claim, ServerCall, ServerListener, Settle } from './server-calls.js';

/** Until all partitions know that a topic is held while all is well, in milliseconds; and by how much clocks may differ. */
const TOLD = 500;
const CLOCK_ERROR = 10;

/** A topic that is held by a limit of somebody else. World time. */
interface Hold {
  readonly at: number;
  readonly until: number;
}

export interface HoldRuleOptions extends RuleOptions {
  readonly calm: Calm;
}

/** Nothing begins for which somebody has met a limit. */
export class HoldRules implements ServerListener {
  readonly #options: HoldRuleOptions;
  /** Until when nothing is handed out of a partition, or of a key of a topic, by the clock of Redis. */
  readonly #until = new Map<string, number>();
  readonly #holds = new Map<string, Hold>();

  constructor(options: HoldRuleOptions) {
    this.#options = options;
  }

  /** A handler has met a limit of all of its topic, and asks for so many milliseconds. */
  met({ topic }: Run, delay: number): void {
    const { now } = this.#options.world;
    const { until = 0 } = this.#holds.get(topic) ?? {};
    if (now + delay > until) this.#holds.set(topic, { at: now, until: now + delay });
  }

  begin({ id, topic, process }: Run): void {
    const { world, calm, violated } = this.#options;
    const { at = 0, until = 0 } = this.#holds.get(topic) ?? {};
    const left = until - world.now;
    if (world.now < at + TOLD || left < CLOCK_ERROR || !calm.since(at)) return;
    violated('held', `${id} begins, although its topic is held for ${Math.round(left)} ms more`, [id, process.name]);
  }

  claimed({ topic, partition, key, id, process }: Claim): void {
    const { server, violated } = this.#options;
    for (const place of [partition, `${topic} ${key}`]) {
      const left = (this.#until.get(place) ?? 0) - server.now();
      if (left > 0)
        violated('held', `${id} is handed out, although ${place} rests for ${Math.ceil(left)} ms more`, [
          id,
          process.name,
        ]);
    }
  }

  settled({ topic, key, outcome, delay, isAnother }: Settle): void {
    // Redis counts whole milliseconds.
    const now = Math.floor(this.#options.server.now());
    if (outcome === 'k' && !isAnother) this.#rest(`${topic} ${key}`, now + delay);
  }

  ran({ topic, partition, call: { name } }: ServerCall, [until]: readonly unknown[]): void {
    if (name === 'hold') this.#rest(partition, Number(until));
    if (name !== 'resume') return;
    this.#until.delete(partition);
    this.#holds.delete(topic);
  }

  redisLost(): void {
    this.#until.clear();
  }

  #rest(place: string, until: number): void {
    this.#until.set(place, Math.max(until, this.#until.get(place) ?? 0));
  }
}
