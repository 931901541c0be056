import type { Payload } from '../work/payload.js';
import { Process } from '../fleet/process.js';
import { TOPICS } from '../fleet/topics.js';
import type { WatchCall } from '../redis/linked-calls.js';
import type { Server } from '../redis/server.js';
import type { Accidents } from '../world/accidents.js';
import type { World } from '../world/world.js';
import { DeliveryRules } from './delivery-rules.js';
import { IdleRules } from './idle-rules.js';
import { LimitRules } from './limit-rules.js';
import { type Begun, MessageRules } from './message-rules.js';
import { OwnerRules } from './owner-rules.js';
import { PermitRules } from './permit-rules.js';
import { ReceiptRules } from './receipt-rules.js';
import { ReleaseRules } from './release-rules.js';
import type { Holder, Run } from './run.js';

/** A promise that was broken. */
export interface Violation {
  readonly rule: string;
  readonly text: string;
  /** The ids, partitions and processes that it is about. */
  readonly about: readonly string[];
  /** World time. */
  readonly at: number;
}

/** Many more calls than any load of a simulation makes: at the start, for each delivery, and in each second. */
const BUDGET = { start: 5000, delivery: 20, second: 100 };

/** What must hold, whatever goes wrong. It is told of all that happens, and notes the first promise that is broken. */
export class Rules {
  readonly violations: Violation[] = [];
  deliveries = 0;
  calls = 0;
  /** When a handler was last called, or has ended. World time. */
  handledAt = -Infinity;
  /** Told of each run that begins. */
  onBegin: ((run: Run) => void) | undefined;
  readonly messages: MessageRules;
  readonly receipts: ReceiptRules;
  readonly #deliveries: DeliveryRules;
  readonly #idle: IdleRules;
  readonly #limits: LimitRules;
  readonly #owners: OwnerRules;
  readonly #permits: PermitRules;
  readonly #releases: ReleaseRules;
  readonly #world: World;
  readonly #begunAt: number;

  constructor(world: World, server: Server, accidents: Accidents) {
    this.#world = world;
    this.#begunAt = world.now;
    const violated = (rule: string, text: string, about: readonly string[]): void => this.violated(rule, text, about);
    this.#deliveries = new DeliveryRules({ world, server, violated });
    this.#permits = new PermitRules({ world, server, violated });
    this.#releases = new ReleaseRules({ world, server, violated });
    this.messages = new MessageRules({ world, server, violated });
    this.#idle = new IdleRules({ world, server, violated });
    this.#limits = new LimitRules({ world, server, violated });
    this.#owners = new OwnerRules({ world, server, violated });
    this.receipts = new ReceiptRules({ world, server, violated, rules: this, accidents });
  }

  get isBroken(): boolean {
    return this.violations.length > 0;
  }

  // ── what producers do ───────────────────────────────────────────────────────────────────────────────────────────────

  publishing(message: Payload & { readonly topic: string }): void {
    this.messages.publishing(message);
  }

  /** @param dueAt by the clock of Redis */
  published(id: string, dueAt: number): void {
    this.messages.published(id, dueAt);
  }

  /** A call that may have published it has ended, or was given up. */
  called(id: string): void {
    this.messages.called(id);
  }

  refused(id: string, error: unknown): void {
    this.violated('refused', `the publish of ${id} was refused: ${(error as Error).message}`, [id]);
  }

  // ── what handlers do ────────────────────────────────────────────────────────────────────────────────────────────────

  begin(process: Holder, message: Begun, permit?: Run['permit']): Run {
    this.deliveries++;
    this.handledAt = this.#world.now;
    const run = this.messages.begin(process, message, permit);
    this.onBegin?.(run);
    const { limits } = TOPICS[message.topic] ?? {};
    if (limits) this.#limits.begin(run, limits);
    if (process instanceof Process && permit === undefined) {
      this.#deliveries.begin(process, run);
      if (limits?.rateLimit && limits.rateLimit.by !== 'key') this.#permits.begin(process, run);
    }
    return run;
  }

  end(run: Run, isDone: boolean): void {
    this.handledAt = this.#world.now;
    this.messages.end(run, isDone);
    this.#limits.end(run);
    if (run.process instanceof Process && run.permit === undefined) this.#deliveries.end(run.process, run);
  }

  /** A process was told that Redis has taken its acknowledgement. */
  acked(id: string, process: Holder): void {
    this.messages.acked(id, process);
  }

  // ── what happens to processes and Redis ─────────────────────────────────────────────────────────────────────────────

  failed(what: string, error: unknown): void {
    this.violated('failed', `${what}: ${(error as Error).stack ?? String(error)}`, []);
  }

  /**
   * Redis has forgotten what it was told since then.
   *
   * @param since world time
   */
  redisLost(since: number): void {
    this.messages.redisLost(since);
    this.receipts.redisLost();
    this.#limits.redisLost();
    this.#deliveries.redisLost();
    this.#releases.redisLost();
    this.#permits.redisLost(since === -Infinity);
  }

  /** @param by milliseconds */
  clockStepped(by: number): void {
    this.messages.clockStepped(by);
    this.receipts.redisLost();
    this.#limits.redisLost();
    this.#deliveries.redisLost();
    this.#permits.redisLost(false);
  }

  watcherOf(process: Process): WatchCall {
    return (name, place, given) => {
      const call = { name, place, given };
      const overdue = this.#deliveries.sent(process, call);
      return (run) => {
        this.#called();
        const reply = this.#owners.watch(process, call, run);
        this.#deliveries.ran(process, call, reply, overdue);
        this.#permits.ran(process, call, reply);
        this.#releases.ran(process, call, reply);
        return reply;
      };
    };
  }

  /**
   * Nothing has gone wrong for so long that everything should be done.
   *
   * @param calm milliseconds
   */
  conclude(calm: number): void {
    if (!this.isBroken) this.messages.conclude(calm);
  }

  /**
   * Lets nothing happen for a while.
   *
   * @param processes that live
   */
  async rest(processes: number): Promise<void> {
    await this.#idle.check(
      processes,
      () => this.calls,
      () => this.isBroken,
    );
  }

  /** @param keys that still hold something although nothing is left to do */
  left(keys: readonly string[]): void {
    this.violated('left', `something is left in ${keys.slice(0, 5).join(', ')}`, keys);
  }

  /** Nobody asks again and again without a pause. */
  #called(): void {
    const { start, delivery, second } = BUDGET;
    const most = start + this.deliveries * delivery + ((this.#world.now - this.#begunAt) / 1000) * second;
    if (++this.calls > most) this.violated('storm', `${this.calls} calls for ${this.deliveries} deliveries`, []);
  }

  violated(rule: string, text: string, about: readonly string[]): void {
    this.#world.trace('rules', `${rule}: ${text}`);
    this.violations.push({ rule, text, about, at: this.#world.now });
  }
}
