import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import type { Payload } from '../work/payload.js';
import type { Process } from '../fleet/process.js';
import { OPERATED, RECURRING, TOPICS, isAtMostOnce } from '../fleet/topics.js';
import type { WatchCall } from '../redis/linked-calls.js';
import type { Server } from '../redis/server.js';
import type { Accidents } from '../world/accidents.js';
import type { World } from '../world/world.js';
import { AttemptRules } from './attempt-rules.js';
import { type CalledHandler, CallRules } from './call-rules.js';
import { Calm } from './calm.js';
import { DeathRules } from './death-rules.js';
import { HoldRules } from './hold-rules.js';
import { IdleRules } from './idle-rules.js';
import { LimitRules } from './limit-rules.js';
import { type Begun, MessageRules } from './message-rules.js';
import { OnceRules } from './once-rules.js';
import { OccurrenceRules } from './occurrence-rules.js';
import { OperatorRules } from './operator-rules.js';
import { OwnerRules } from './owner-rules.js';
import { ReceiptRules } from './receipt-rules.js';
import { RepeatedRules } from './repeated-rules.js';
import type { Holder, Run } from './run.js';
import { ServerCalls } from './server-calls.js';
import { TurnRules } from './turn-rules.js';

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
  readonly messages: MessageRules;
  readonly receipts: ReceiptRules;
  readonly deaths: DeathRules;
  readonly holds: HoldRules;
  readonly repeated: RepeatedRules;
  readonly #handlers: CallRules;
  readonly #attempts: AttemptRules;
  readonly #onces: OnceRules;
  readonly #served: ServerCalls;
  readonly operators: OperatorRules;
  readonly occurrences: OccurrenceRules;
  readonly #idle: IdleRules;
  readonly #limits: LimitRules;
  readonly #owners: OwnerRules;
  readonly #world: World;
  readonly #begunAt: number;

  constructor(world: World, server: Server, accidents: Accidents) {
    this.#world = world;
    this.#begunAt = world.now;
    const violated = (rule: string, text: string, about: readonly string[]): void => this.#violated(rule, text, about);
    this.messages = new MessageRules({ world, server, violated });
    this.#idle = new IdleRules({ world, server, violated });
    this.#limits = new LimitRules({ world, server, violated });
    this.#owners = new OwnerRules({ world, server, violated });
    const calm = new Calm(server, accidents, world.now);
    this.receipts = new ReceiptRules({ world, server, violated, rules: this, calm });
    const { messages } = this;
    this.#handlers = new CallRules({ world, server, violated });
    this.#attempts = new AttemptRules({ world, server, violated, calls: this.#handlers, calm });
    this.deaths = new DeathRules({ world, server, violated, messages, attempts: this.#attempts });
    this.holds = new HoldRules({ world, server, violated, calm });
    this.#onces = new OnceRules({ world, server, violated, messages });
    this.repeated = new RepeatedRules({ world, server, violated, messages });
    const turns = new TurnRules({ world, server, violated, calm });
    // Deaths go by the attempts as they are before.
    this.#served = new ServerCalls(server, [
      this.deaths,
      this.#attempts,
      this.holds,
      this.#onces,
      this.repeated,
      turns,
    ]);
    this.operators = new OperatorRules({ world, server, violated, messages, calm });
    this.occurrences = new OccurrenceRules({ world, server, violated, messages, calm });
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
  publishEnded(id: string): void {
    this.messages.called(id);
  }

  refused(id: string, error: unknown): void {
    this.#violated('refused', `the publish of ${id} was refused: ${(error as Error).message}`, [id]);
  }

  // ── what handlers do ────────────────────────────────────────────────────────────────────────────────────────────────

  begin(process: Holder, message: Begun, permit?: Run['permit']): Run {
    this.deliveries++;
    this.handledAt = this.#world.now;
    if (message.topic === RECURRING) this.occurrences.begin(message);
    const run = this.messages.begin(process, message, permit);
    if (message.topic === OPERATED) this.operators.begin(run, (message.payload as Payload).edition ?? 0);
    const { limits } = TOPICS[message.topic] ?? {};
    if (limits) this.#limits.begin(run, limits);
    for (const one of [this.#attempts, this.deaths, this.holds, this.#onces, this.repeated]) one.begin(run);
    return run;
  }

  /** A handler is called; answers what is to be called once it has ended. */
  called(process: Process, handler: CalledHandler, messages: readonly DelayedMessage[]): () => void {
    return this.#handlers.begin(process, handler, messages);
  }

  end(run: Run, isDone: boolean): void {
    this.handledAt = this.#world.now;
    this.messages.end(run, isDone);
    this.#limits.end(run);
  }

  /** A process was told that Redis has taken its acknowledgement. */
  acked(id: string, process: Holder, topic = ''): void {
    // Which version it was is not known, or Redis was told nothing.
    if (!TOPICS[topic]?.onDuplicate && !isAtMostOnce(topic)) this.messages.acked(id, process);
  }

  // ── what happens to processes and Redis ─────────────────────────────────────────────────────────────────────────────

  failed(what: string, error: unknown): void {
    this.#violated('failed', `${what}: ${(error as Error).stack ?? String(error)}`, []);
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
    this.#owners.redisLost();
    this.#served.redisLost(since);
    this.operators.redisLost(since);
    this.occurrences.redisLost(since);
  }

  /** @param by milliseconds */
  clockStepped(by: number): void {
    this.messages.clockStepped(by);
    this.deaths.clockStepped();
    this.receipts.redisLost();
    this.#limits.redisLost();
    this.operators.clockStepped();
    this.occurrences.clockStepped();
  }

  watcherOf(process: Process): WatchCall {
    return (name, place, given, run) => {
      this.#called();
      if (name === 'extend') this.messages.renewed((given as { readonly rest: readonly string[] }).rest);
      const call = { name, place, given };
      const isRepeat = this.#served.isRepeat(call);
      const reply = this.#owners.watch(process, call, run);
      if (!isRepeat) this.#served.ran(process, call, reply);
      return reply;
    };
  }

  /**
   * Nothing has gone wrong for so long that everything should be done.
   *
   * @param calm milliseconds
   */
  conclude(calm: number): void {
    if (!this.isBroken) this.messages.conclude(calm);
    if (!this.isBroken) this.occurrences.conclude();
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
    this.#violated('left', `something is left in ${keys.slice(0, 5).join(', ')}`, keys);
  }

  /** Nobody asks again and again without a pause. */
  #called(): void {
    const { start, delivery, second } = BUDGET;
    const most = start + this.deliveries * delivery + ((this.#world.now - this.#begunAt) / 1000) * second;
    if (++this.calls > most) this.#violated('storm', `${this.calls} calls for ${this.deliveries} deliveries`, []);
  }

  #violated(rule: string, text: string, about: readonly string[]): void {
    this.#world.trace('rules', `${rule}: ${text}`);
    this.violations.push({ rule, text, about, at: this.#world.now });
  }
}
