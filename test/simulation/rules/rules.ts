import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import type { Payload } from '../work/payload.js';
import { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import { OPERATED, RECURRING, TOPICS, isAtMostOnce } from '../fleet/topics.js';
import type { WatchCall } from '../redis/linked-calls.js';
import type { World } from '../world/world.js';
import { AttemptRules } from './attempt-rules.js';
import { type CalledHandler, CallRules } from './call-rules.js';
import { Calm } from './calm.js';
import { DeathRules } from './death-rules.js';
import { HoldRules } from './hold-rules.js';
import { DeliveryRules } from './delivery-rules.js';
import { IdleRules } from './idle-rules.js';
import { LimitRules } from './limit-rules.js';
import { type Begun, MessageRules } from './message-rules.js';
import { OnceRules } from './once-rules.js';
import { OccurrenceRules } from './occurrence-rules.js';
import { OperatorRules } from './operator-rules.js';
import { OwnerRules } from './owner-rules.js';
import { PermitRules } from './permit-rules.js';
import { ReceiptRules } from './receipt-rules.js';
import { RepeatedRules } from './repeated-rules.js';
import { ReleaseRules } from './release-rules.js';
import { ALL_LOST, type Holder, type IsLost, type Run } from './run.js';
import { ServerCalls } from './server-calls.js';
import { TurnRules } from './turn-rules.js';
import { answerAsOfNow, asOfNow } from './version-before.js';

/** A promise that was broken. */
export interface Violation {
  readonly rule: string;
  readonly text: string;
  /** The ids, partitions and processes that it is about. */
  readonly about: readonly string[];
  /** World time. */
  readonly at: number;
}

/** Many more calls than any load of a simulation makes: at the start, for each delivery, and in each second, for each partition, too. */
const BUDGET = { start: 5000, delivery: 20, second: 100, partition: 4 };

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
  readonly deaths: DeathRules;
  readonly holds: HoldRules;
  readonly repeated: RepeatedRules;
  readonly operators: OperatorRules;
  readonly occurrences: OccurrenceRules;
  readonly #handlers: CallRules;
  readonly #attempts: AttemptRules;
  readonly #onces: OnceRules;
  readonly #deliveries: DeliveryRules;
  readonly #idle: IdleRules;
  readonly #limits: LimitRules;
  readonly #owners: OwnerRules;
  readonly #permits: PermitRules;
  readonly #releases: ReleaseRules;
  readonly #served: ServerCalls;
  /** What goes by what Redis has said, and by what its clock was. */
  readonly #timed: readonly { redisLost(since: number, isLost: IsLost): void }[];
  readonly #world: World;
  readonly #begunAt: number;
  readonly #partitions: number;

  constructor({ world, server, accidents, topics }: Pick<Scene, 'world' | 'server' | 'accidents' | 'topics'>) {
    this.#world = world;
    this.#partitions = topics.reduce((sum, topic) => sum + (TOPICS[topic]?.options.partitions ?? 0), 0);
    this.#begunAt = world.now;
    const violated = (rule: string, text: string, about: readonly string[]): void => this.violated(rule, text, about);
    const options = { world, server, violated };
    const messages = new MessageRules(options);
    const ofMessages = { ...options, messages, calm: new Calm(server, accidents, world.now) };
    this.messages = messages;
    this.#idle = new IdleRules(options);
    this.#limits = new LimitRules(options);
    this.#owners = new OwnerRules(options);
    this.#permits = new PermitRules(options);
    this.#releases = new ReleaseRules(options);
    this.#deliveries = new DeliveryRules(options);
    this.#handlers = new CallRules(options);
    this.#attempts = new AttemptRules({ ...ofMessages, calls: this.#handlers });
    this.receipts = new ReceiptRules({ ...ofMessages, owners: this.#owners, rules: this });
    this.deaths = new DeathRules({ ...ofMessages, attempts: this.#attempts });
    this.holds = new HoldRules(ofMessages);
    this.repeated = new RepeatedRules(ofMessages);
    this.operators = new OperatorRules(ofMessages);
    this.occurrences = new OccurrenceRules(ofMessages);
    this.#onces = new OnceRules(ofMessages);
    this.#timed = [this.receipts, this.holds, this.#limits, this.#deliveries, this.#permits];
    const turns = new TurnRules(ofMessages);
    // Deaths go by the attempts as they are before.
    const listeners = [this.deaths, this.#attempts, this.holds, this.#onces, this.repeated, turns];
    this.#served = new ServerCalls(server, listeners);
  }

  get isBroken(): boolean {
    return this.violations.length > 0;
  }

  // ── what producers do ───────────────────────────────────────────────────────────────────────────────────────────────

  publishing(topic: string, payload: Payload): void {
    this.messages.publishing({ ...payload, topic });
    if (topic === OPERATED) this.operators.publishing(payload);
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
    this.violated('refused', `the publish of ${id} was refused: ${(error as Error).message}`, [id]);
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
    this.onBegin?.(run);
    if (process instanceof Process && permit === undefined) {
      this.#deliveries.begin(process, run);
      if (limits?.rateLimit && limits.rateLimit.by !== 'key') this.#permits.begin(process, run);
    }
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
    if (run.process instanceof Process && run.permit === undefined) this.#deliveries.end(run.process, run);
  }

  /** A process was told that Redis has taken its acknowledgement. */
  acked(id: string, process: Holder, topic = ''): void {
    // Which version it was is not known, or Redis was told nothing.
    if (!TOPICS[topic]?.onDuplicate && !isAtMostOnce(topic)) this.messages.acked(id, process);
  }

  // ── what happens to processes and Redis ─────────────────────────────────────────────────────────────────────────────

  failed(what: string, error: unknown): void {
    this.violated('failed', `${what}: ${(error as Error).stack ?? String(error)}`, []);
  }

  /**
   * Redis has forgotten what it was told since then.
   *
   * @param since world time
   * @param isLost of a Cluster, what the shard holds that has forgotten it
   */
  redisLost(since: number, isLost = ALL_LOST): void {
    const others = [this.messages, this.#owners, this.#served, this.operators, this.occurrences, this.#releases];
    for (const one of [...others, ...this.#timed]) one.redisLost(since, isLost);
  }

  /** Another program has damaged what is stored of a message, or of its deliveries. */
  damaged(id: string, what: 'message' | 'deliveries'): void {
    if (what === 'message') return this.messages.damaged(id);
    for (const one of [this.messages, this.receipts, this.#attempts]) one.forgotten(id);
  }

  /** @param by milliseconds */
  clockStepped(by: number): void {
    this.messages.clockStepped(by);
    for (const one of [this.deaths, this.operators, this.occurrences]) one.clockStepped();
    for (const one of this.#timed) one.redisLost(this.#world.now, ALL_LOST);
  }

  watcherOf(process: Process): WatchCall {
    return (name, place, given) => {
      const call = asOfNow({ name, place, given });
      const overdue = this.#deliveries.sent(process, call);
      return (run) => {
        this.#called();
        const isRepeat = this.#served.isRepeat(call);
        const answer = this.#owners.watch(process, call, run);
        const reply = answerAsOfNow(call, answer);
        if (!isRepeat) this.#served.ran(process, call, reply);
        if (name === 'extend' && !isRepeat) this.messages.renewed((given as { readonly rest: readonly string[] }).rest);
        this.#deliveries.ran(process, call, reply, overdue);
        this.#permits.ran(process, call, reply);
        this.#releases.ran(process, call, reply);
        return answer;
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
    if (!this.isBroken) this.occurrences.conclude();
  }

  /**
   * Lets nothing happen for a while.
   *
   * @param processes that live
   */
  async rest(processes: number): Promise<void> {
    await this.#idle.check(
      { processes, partitions: this.#partitions },
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
    const { start, delivery, second, partition } = BUDGET;
    const seconds = (this.#world.now - this.#begunAt) / 1000;
    const most = start + this.deliveries * delivery + seconds * (second + this.#partitions * partition);
    if (++this.calls > most) this.violated('storm', `${this.calls} calls for ${this.deliveries} deliveries`, []);
  }

  violated(rule: string, text: string, about: readonly string[]): void {
    this.#world.trace('rules', `${rule}: ${text}`);
    this.violations.push({ rule, text, about, at: this.#world.now });
  }
}
