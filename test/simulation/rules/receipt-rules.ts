import type { SettleStatus } from '../../../lib/messages/settle-status.js';
import { placeOf } from '../fleet/topics.js';
import { AFTERMATH, type Calm } from './calm.js';
import type { Begun, MessageRules } from './message-rules.js';
import type { OwnerRules } from './owner-rules.js';
import type { Rules } from './rules.js';
import { type Holder, type RuleOptions, type Run, isCurrent } from './run.js';

/** Two settles of one process that are sent at a time are answered within so long of each other, in milliseconds. */
const BESIDE = 2000;

/** How late something is at most that comes back while all is well, in milliseconds. */
const LATENESS = 3000;

/** Who has waited so long at the process that can give it has it, in milliseconds: it looks by itself after a second. */
const WAITED = 1200;
const LOOK = 200;

export interface Outcome {
  readonly outcome: 'ack' | 'retry' | 'release';
  /** Milliseconds; `undefined`: what the product chooses. */
  readonly delay?: number | undefined;
}

/** A delivery that somebody has received. */
export interface Holding {
  readonly run: Run;
  readonly topic: string;
  /** Aborts when its lease may have ended, whether it is settled or not. */
  readonly kept: AbortSignal;
  /** How often somebody has asked to settle it. */
  asked: number;
  /** When somebody was told that it is settled. World time. */
  settledAt: number | undefined;
  /** The process that said so. */
  settledBy: Holder | undefined;
  /** Whether the message may be suspected of ending processes. */
  hasLapsed: boolean;
}

/** A settle whose answer is not known yet. */
export interface Asked extends Outcome {
  readonly holding: Holding;
  /** World time. */
  readonly at: number;
  readonly isDone: boolean;
  /** The process that is asked. */
  readonly by: Holder;
}

export interface ReceiptRuleOptions extends RuleOptions {
  readonly rules: Rules;
  readonly calm: Calm;
  readonly messages: MessageRules;
  readonly owners: OwnerRules;
}

/** A receipt counts once, as long as its delivery is the current one, wherever it is brought; and what it gives back comes back in time. */
export class ReceiptRules {
  readonly #options: ReceiptRuleOptions;
  /** The latest delivery of each message. */
  readonly #latest = new Map<string, Holding>();
  readonly #lapsed = new Set<string>();
  /** Since when somebody waits at a process for messages of a topic. World time. */
  readonly #waiting = new Set<{ readonly process: Holder; readonly topic: string; readonly since: number }>();
  #lostAt = -Infinity;

  constructor(options: ReceiptRuleOptions) {
    this.#options = options;
  }

  /** Somebody waits at a process until they have received something, or nothing. */
  async waits<T>(process: Holder, topic: string, receiving: Promise<T>): Promise<T> {
    const one = { process, topic, since: this.#options.world.now };
    this.#waiting.add(one);
    try {
      return await receiving;
    } finally {
      this.#waiting.delete(one);
    }
  }

  /**
   * Somebody has received a message.
   *
   * @param giver the process that gave it
   * @param kept aborts when its lease may have ended
   * @param signal aborts when whoever has it knows that its lease has ended
   */
  begin(giver: Holder, message: Begun, kept: AbortSignal, holder = giver, signal = message.signal): Holding {
    const { rules } = this.#options;
    const { topic, key, attempt, payload } = message;
    const permit = { process: giver, signal: message.signal };
    const run = rules.begin(holder, { topic, key, attempt, payload, signal }, permit);
    const state = { asked: 0, settledAt: undefined, settledBy: undefined, hasLapsed: this.#lapsed.has(run.id) };
    const holding: Holding = { run, topic, kept, ...state };
    this.#latest.set(run.id, holding);
    return holding;
  }

  /** Nobody is to settle it before its lease ends. */
  lapses({ run }: Holding): void {
    this.#lapsed.add(run.id);
  }

  extended({ run, kept }: Holding, status: string): void {
    if (status === 'stale') this.#assertOver({ ...run, signal: kept }, 'cannot be extended within its lease');
  }

  /** Somebody is about to settle it. */
  asks(holding: Holding, { outcome, delay }: Outcome, by: Holder): Asked {
    const { rules, world } = this.#options;
    const { run } = holding;
    holding.asked++;
    const isDone = outcome === 'ack';
    // It may take effect at any moment from now on.
    rules.end(run, isDone);
    return { holding, outcome, delay, at: world.now, isDone, by };
  }

  answered(asked: Asked, status: SettleStatus | undefined): void {
    const { world, rules } = this.#options;
    const { holding, isDone, at } = asked;
    const { run } = holding;
    if (status === 'stale') {
      const current = { ...run, isOver: false, signal: holding.kept };
      if (holding.asked === 1) this.#assertOver(current, 'is settled within its lease, to no effect');
      if (isDone) rules.messages.undone(run);
      return;
    }
    if (status !== 'settled') return this.#violated('receipt', `the settle of ${run.id} is answered ${status}`, run);
    if (this.#lostAt < run.begunAt) {
      if (holding.settledAt !== undefined) this.#violated('receipt', `one receipt of ${run.id} counts twice`, run);
      const latest = this.#latest.get(run.id);
      if (latest && latest !== holding && latest.run.begunAt < at) {
        this.#violated('receipt', `the receipt of an earlier delivery of ${run.id} counts`, run);
      }
    }
    holding.settledAt = world.now;
    holding.settledBy = asked.by;
    if (isDone) rules.acked(run.id, run.process);
    else this.#comesBack(asked);
  }

  /** It was not confirmed, although Redis serves. */
  failed({ holding, at, isDone, by }: Asked, error: unknown): void {
    const { run, settledAt = -Infinity, settledBy } = holding;
    // An acknowledgement never waits for room, so it was answered not long after what this process has sent beside it.
    const isForgotten = isDone && settledBy === by && settledAt > at && settledAt < this.#options.world.now - BESIDE;
    if (isForgotten || this.#options.calm.since(at))
      this.#violated('receipt', `${run.id} is not settled: ${(error as Error).message}`, run);
  }

  /** What is stored of its deliveries is gone. */
  forgotten(id: string): void {
    const latest = this.#latest.get(id);
    if (latest) latest.run.isExcused = true;
  }

  redisLost(): void {
    this.#lostAt = this.#options.world.now;
  }

  /** What waits for nothing but a receiver is received in time. */
  #comesBack({ holding, outcome, delay = outcome === 'release' ? 0 : undefined }: Asked): void {
    const { world } = this.#options;
    const { run, topic, hasLapsed } = holding;
    if (topic !== 'received' || delay === undefined || hasLapsed || holding.asked > 1) return;
    const since = world.now;
    const look = (): void => {
      if (this.#latest.get(run.id) !== holding || this.#lapsed.has(run.id) || !this.#options.calm.since(since)) return;
      // Whoever is outside may ask others.
      if (!this.#isAwaited(run)) return void world.after(LOOK, look);
      this.#violated('late', `${run.id} has been back for ${LATENESS} ms, and nobody receives it`, run);
    };
    world.after(delay + LATENESS, look);
  }

  /** Whether somebody waits for it where it is. */
  #isAwaited({ id, topic }: Run): boolean {
    const { world, owners, messages } = this.#options;
    const message = messages.find(id);
    const owner = message && owners.ownerOf(`${placeOf(message)}:owner`);
    return [...this.#waiting].some(
      (one) => one.process === owner && one.topic === topic && one.since < world.now - WAITED,
    );
  }

  #assertOver(run: Run, what: string): void {
    if (isCurrent(run) && this.#lostAt < run.begunAt - AFTERMATH) this.#violated('receipt', `${run.id} ${what}`, run);
  }

  #violated(rule: string, text: string, { id, topic, process }: Run): void {
    this.#options.violated(rule, text, [id, topic, process.name]);
  }
}
