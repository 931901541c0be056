import { fromStoredId } from '../../../lib/messages/stored-id.js';
import { TOPICS } from '../fleet/topics.js';
import type { Calm } from './calm.js';
import type { CallRules } from './call-rules.js';
import type { IsLost, RuleOptions, Run } from './run.js';
import type { Claim, Publish, ServerCall, ServerListener, Settle } from './server-calls.js';

/** After so many deliveries in a row that have ended with their leases a message runs alone, and each more spends an attempt. */
const FREE_LAPSES = 3;

/** How many arguments a call to requeue has of each dead letter. */
const REQUEUED = 3;

/** How late a retry may be while all is well, in milliseconds. */
const LATENESS = 3000;

/** What is known of the deliveries of a message. */
interface Life {
  /** The hash tag of its partition. */
  readonly place: string;
  /** When the one with this id was published that has taken the place of another. World time. */
  readonly beganAt: number;
  attempt: number;
  delivery: number;
  /** World time of the latest claim. */
  claimedAt: number;
  /** Whether its latest delivery has not been settled. */
  isOut: boolean;
  /** Deliveries in a row that have ended with their leases, and how many attempts those may have spent. */
  lapses: number;
  spent: number;
  /** When its failures were stored. World time. */
  readonly failures: number[];
  /** Until when it has to wait, by the clock of Redis. */
  waitsUntil: number;
  /** What was known before another program wrote over its deliveries, and when it did. World time. */
  readonly before: { readonly life: Life; readonly until: number } | undefined;
}

export interface AttemptRuleOptions extends RuleOptions {
  readonly calls: CallRules;
  readonly calm: Calm;
}

/** The attempts that handlers see count up by one for each failure, and no other; and what has failed comes again in time, and not before. */
export class AttemptRules implements ServerListener {
  readonly #options: AttemptRuleOptions;
  readonly #lives = new Map<string, Life>();
  #lostAt = -Infinity;

  constructor(options: AttemptRuleOptions) {
    this.#options = options;
  }

  /** @returns the attempt of its latest delivery, which one that is, and whether crashes may have spent some */
  of(id: string): Readonly<Pick<Life, 'attempt' | 'delivery' | 'spent'>> | undefined {
    return this.#lives.get(id);
  }

  claimed({ topic, partition, id, delivery, attempt }: Claim): void {
    const { world, server } = this.#options;
    const life = this.#lives.get(id) ?? newLife(`{dq:${partition}}`);
    this.#lives.set(id, life);
    if (server.now() < life.waitsUntil) {
      const early = Math.ceil(life.waitsUntil - server.now());
      this.#options.violated('backoff', `${id} comes again ${early} ms too early`, [id, topic]);
    }
    life.lapses = life.isOut ? life.lapses + 1 : 0;
    if (life.lapses > FREE_LAPSES) life.spent++;
    Object.assign(life, { attempt, delivery, claimedAt: world.now, isOut: true, waitsUntil: -Infinity });
  }

  settled({ topic, id, outcome, delay, isAnother }: Settle): void {
    const { world, server } = this.#options;
    const life = this.#lives.get(id);
    if (!life) return;
    Object.assign(life, { isOut: false, lapses: 0 });
    if (isAnother) return;
    if (outcome === 'r') {
      life.failures.push(world.now);
      this.#assertBackoff(topic, id, delay, life.attempt);
    }
    if (!'rpk'.includes(outcome)) return;
    // Redis counts whole milliseconds.
    life.waitsUntil = Math.floor(server.now()) + delay;
    this.#assertInTime(topic, id, delay, life);
  }

  /** Its deliveries are not known any more: the next one counts as the first, after one that has ended with its lease if it was out. */
  forgotten(id: string): void {
    const life = this.#lives.get(id);
    if (!life) return;
    const before = { life, until: this.#options.world.now };
    this.#lives.set(id, { ...newLife(life.place), isOut: life.isOut, before });
  }

  /** An id is that of another message once it is published again. */
  published({ id, partition, isStored }: Publish): void {
    if (isStored && this.#lives.has(id))
      this.#lives.set(id, { ...newLife(`{dq:${partition}}`), beganAt: this.#options.world.now });
  }

  /** An operator has moved it, or has given it all of its attempts again. */
  ran({ call: { name, given } }: ServerCall, [statuses]: readonly unknown[]): void {
    const { id, rest = [] } = given as { readonly id?: string; readonly rest?: readonly unknown[] };
    if (name === 'requeue-dead') {
      const dead = rest.filter((_, i) => i % REQUEUED === 0);
      const requeued = dead.filter((_, n) => String(statuses)[n] === '1');
      for (const one of requeued) this.#lives.delete(fromStoredId(String(one)).id);
    }
    if (name === 'reschedule')
      Object.assign(this.#lives.get(fromStoredId(String(id)).id) ?? {}, { waitsUntil: -Infinity });
  }

  begin(run: Run): void {
    const life = this.#lives.get(run.id);
    // What was claimed before may have been forgotten since then.
    if (!life || life.claimedAt <= this.#lostAt) return;
    const least = 1 + life.failures.length;
    if (run.attempt >= least && run.attempt <= least + life.spent) return;
    const { id, attempt, process } = run;
    const text = `${id} begins attempt ${attempt} after ${life.failures.length} that have failed`;
    this.#options.violated('attempt', text, [id, process.name]);
  }

  redisLost(since: number, isLost: IsLost): void {
    this.#lostAt = this.#options.world.now;
    for (const [id, latest] of this.#lives) {
      if (!isLost(latest.place)) continue;
      const life = asOf(since, latest);
      this.#lives.set(id, life);
      if (life.beganAt >= since) this.#lives.delete(id);
      // It may be what it was in some other row of deliveries.
      life.spent = Infinity;
      life.waitsUntil = -Infinity;
      const forgotten = life.failures.findIndex((at) => at >= since);
      if (forgotten >= 0) life.failures.splice(forgotten);
    }
  }

  #assertBackoff(topic: string, id: string, delay: number, attempt: number): void {
    const { options, received } = TOPICS[topic] ?? {};
    const { backoff } = options ?? {};
    // Whoever has received it may choose.
    if (received || typeof backoff !== 'object') return;
    const delays = backoff.type === 'steps' ? backoff.delays : [backoff.delay];
    const expected = delays[attempt - 1] ?? delays.at(-1);
    if (delay === expected) return;
    const text = `attempt ${attempt} of ${id} is repeated after ${delay} ms in place of ${expected}`;
    this.#options.violated('backoff', text, [id, topic]);
  }

  /** What waits for nothing but a slot comes again in time. */
  #assertInTime(topic: string, id: string, delay: number, life: Life): void {
    const { world, calls, calm } = this.#options;
    if (!TOPICS[topic]?.isPrompt) return;
    const { delivery } = life;
    const since = world.now;
    world.after(delay + LATENESS, () => {
      const isWaiting = this.#lives.get(id) === life && life.delivery === delivery;
      if (!isWaiting || calls.fullAt >= since || !calm.since(since)) return;
      this.#options.violated('late', `${id} should have come again ${LATENESS} ms ago`, [id, topic]);
    });
  }
}

/** @param place the hash tag of its partition */
function newLife(place: string): Life {
  return {
    place,
    beganAt: -Infinity,
    attempt: 0,
    delivery: 0,
    claimedAt: -Infinity,
    isOut: false,
    lapses: 0,
    spent: 0,
    failures: [],
    waitsUntil: -Infinity,
    before: undefined,
  };
}

/** What is stored again once Redis has forgotten what was written over it. */
function asOf(since: number, life: Life): Life {
  const { before } = life;
  return before && before.until >= since ? asOf(since, before.life) : life;
}
