import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import { fromStoredId } from '../../../lib/messages/stored-id.js';
import type { Payload } from '../work/payload.js';
import { LONGEST_LEASE, TOPICS, isAtMostOnce, placeOf } from '../fleet/topics.js';
import { type Holder, type IsLost, type RuleOptions, type Run, TIMER_ERROR, isCurrent } from './run.js';

/** What is known of a message once somebody has it. */
export type Begun = Pick<DelayedMessage, 'topic' | 'key' | 'attempt' | 'signal' | 'payload'>;

/** What its publisher knows of a message. */
export interface Published extends Payload {
  readonly topic: string;
  /** World time at which the latest call that may have published it ended. */
  readonly calledUntil: number;
  /** By the clock of Redis. */
  readonly dueAt: number | undefined;
  /** It ended in another way than by being done, such as a dead letter. */
  readonly hasEnded: boolean;
  /** Redis may have forgotten it, or what became of it, or somebody may have taken it away. */
  readonly mayBeLost: boolean;
}

interface Tracked extends Published {
  /** The hash tag of its partition. */
  readonly place: string;
  /** By the clock of Redis. */
  earliest: number;
  /** World time at which it was confirmed that it is stored. */
  publishedAt: number | undefined;
  calledUntil: number;
  dueAt: number | undefined;
  /** World time at which a process was told that it is acknowledged. */
  ackedAt: number | undefined;
  done: number;
  hasEnded: boolean;
  /** World time at which it was done last, and first. */
  doneAt: number;
  firstDoneAt: number;
  readonly runs: Set<Run>;
  /** When another program wrote over what is stored of its deliveries. World time. */
  forgottenAt: number;
  mayBeLost: boolean;
}

/** How much may be between a claim and the call of the handler, in milliseconds. */
const CLAIM_GRAIN = 1000;

/** No message is lost, early, out of order, or handled twice at once or for no reason. */
export class MessageRules {
  /** Confirmed, and not done yet. */
  open = 0;
  confirmed = 0;
  repeats = 0;
  readonly #options: RuleOptions;
  readonly #messages = new Map<string, Tracked>();
  readonly #damaged = new Set<string>();
  /** By topic: published, and not done yet. */
  readonly #waiting = new Map<string, number>();
  /** When Redis has lost something, and what. World time. */
  readonly #losses: { readonly at: number; readonly isLost: IsLost }[] = [];
  /** When the clock of Redis was set last. World time. */
  #steppedAt = -Infinity;
  /** World time until which what begins may have been claimed by another clock, earlier or in place of somebody else. */
  #steppedUntil = -Infinity;
  #mixedUntil = -Infinity;

  constructor(options: RuleOptions) {
    this.#options = options;
  }

  /** How many of a topic were published, are not done yet, and are not lost. */
  waiting(topic: string): number {
    return this.#waiting.get(topic) ?? 0;
  }

  publishing(payload: Payload & { readonly topic: string }): void {
    const known = this.#messages.get(payload.id);
    if (known) {
      known.calledUntil = Infinity;
      return;
    }
    this.#waiting.set(payload.topic, this.waiting(payload.topic) + 1);
    this.#messages.set(payload.id, {
      ...payload,
      place: placeOf(payload),
      publishedAt: undefined,
      calledUntil: Infinity,
      dueAt: undefined,
      ackedAt: undefined,
      done: 0,
      hasEnded: false,
      doneAt: -Infinity,
      firstDoneAt: -Infinity,
      runs: new Set(),
      forgottenAt: -Infinity,
      mayBeLost: false,
    });
  }

  /** @param dueAt by the clock of Redis */
  published(id: string, dueAt: number): void {
    const message = this.#messageOf(id);
    message.dueAt = dueAt;
    if (message.publishedAt !== undefined) return;
    message.publishedAt = this.#options.world.now;
    this.confirmed++;
    if (isExpected(message)) this.open++;
  }

  called(id: string): void {
    this.#messageOf(id).calledUntil = this.#options.world.now;
  }

  begin(process: Holder, { topic, key, attempt, signal, payload }: Begun, permit?: Run['permit']): Run {
    const { world, server } = this.#options;
    const { id } = payload as Payload;
    const message = this.#messageOf(id);
    const isExcused =
      this.#isClaimedBefore(message.forgottenAt, process) ||
      this.#isClaimedBefore(this.#steppedAt, process) ||
      this.#losses.some(({ at, isLost }) => this.#isClaimedBefore(at, process) && isLost(message.place));
    const state = { begunAt: world.now, renewedAt: -Infinity, isOver: false, isExcused };
    const run: Run = { id, topic, key, process, attempt, signal, permit, ...state };
    // Another one with its id may have been published since.
    const others = isAtMostOnce(topic) ? [] : message.runs;
    for (const other of others) if (isCurrent(other)) this.#assertEnds(other, run);
    const early = message.earliest - server.now();
    if (early > 0 && world.now > this.#steppedUntil) this.#violated('early', `${id} begins ${early} ms too early`, run);
    this.#assertNotAgain(message, run);
    if (TOPICS[topic]?.ordered && message.index > 0) this.#assertFirst(message, run);
    message.runs.add(run);
    return run;
  }

  /** Whether what a process begins now may have been claimed before that time: it reads answers late, above all when it has stood still. */
  #isClaimedBefore(at: number, { disturbedAt = -Infinity }: Holder): boolean {
    const { now } = this.#options.world;
    const hasStoodStill = now - disturbedAt < CLAIM_GRAIN;
    return at > (hasStoodStill ? disturbedAt - LONGEST_LEASE : now - CLAIM_GRAIN);
  }

  /** @param ids as they are stored, with their keys behind them */
  renewed(ids: readonly string[]): void {
    for (const id of ids) {
      for (const run of this.#messages.get(fromStoredId(id).id)?.runs ?? []) run.renewedAt = this.#options.world.now;
    }
  }

  end(run: Run, isDone: boolean): void {
    const message = this.#messageOf(run.id);
    run.isOver = true;
    message.runs.delete(run);
    if (!isDone) return;
    message.doneAt = this.#options.world.now;
    if (isExpected(message)) this.#left(message);
    if (message.done++ > 0) this.repeats++;
    else message.firstDoneAt = message.doneAt;
  }

  /** It is over though nobody has done it. */
  ended(id: string): void {
    const message = this.#messageOf(id);
    if (isExpected(message)) this.#left(message);
    message.hasEnded = true;
  }

  /** What its publisher knows of a message. */
  find(id: string): Published | undefined {
    return this.#messages.get(id);
  }

  acked(id: string, process: Holder): void {
    const message = this.#messageOf(id);
    // The answer may come after what it was about was lost.
    if (process.isDead || this.#losses.some(({ at, isLost }) => at >= message.doneAt && isLost(message.place))) return;
    message.ackedAt = this.#options.world.now;
  }

  /** What seemed to end it had no effect. */
  undone({ id }: Run): void {
    const message = this.#messageOf(id);
    if (--message.done > 0) return;
    message.doneAt = -Infinity;
    if (!isExpected(message)) return;
    this.#waiting.set(message.topic, this.waiting(message.topic) + 1);
    if (message.publishedAt !== undefined) this.open++;
  }

  damaged(id: string): void {
    this.#damaged.add(id);
  }

  /** Whoever has it cannot settle it. */
  forgotten(id: string): void {
    const message = this.#messageOf(id);
    message.forgottenAt = this.#options.world.now;
    for (const run of message.runs) run.isExcused = true;
  }

  isDamaged(id: string): boolean {
    return this.#damaged.has(id);
  }

  isDone(id: string): boolean {
    return this.#messageOf(id).done > 0;
  }

  /** Whether nobody expects that it is handled any more. */
  isOver(id: string): boolean {
    return !isExpected(this.#messageOf(id));
  }

  /** Whether it was stored at that time, in world time, and is still to be handled. */
  isStored(id: string, at: number): boolean {
    return !this.isOver(id) && (this.#messageOf(id).publishedAt ?? Infinity) < at;
  }

  /** Somebody may take it away, or nobody is to wait for it any more. */
  mayBeGone(id: string): void {
    const message = this.#messageOf(id);
    if (isExpected(message)) this.#left(message);
    message.mayBeLost = true;
  }

  /** @param earliest by the clock of Redis, if it is earlier than what was known */
  mayBegin(id: string, earliest: number): void {
    const message = this.#messageOf(id);
    message.earliest = Math.min(message.earliest, earliest);
  }

  /** @param earliest by the clock of Redis */
  beginsFrom(id: string, earliest: number): void {
    this.#messageOf(id).earliest = earliest;
  }

  /** It is done, or perhaps lost. */
  #left({ topic, publishedAt }: Tracked): void {
    this.#waiting.set(topic, this.waiting(topic) - 1);
    if (publishedAt !== undefined) this.open--;
  }

  /** @param since world time */
  redisLost(since: number, isLost: IsLost): void {
    this.#losses.push({ at: this.#options.world.now, isLost });
    for (const message of this.#messages.values()) {
      if (!isLost(message.place)) continue;
      for (const run of message.runs) {
        if (run.begunAt >= since - CLAIM_GRAIN || run.renewedAt >= since) run.isExcused = true;
      }
      // That it is done may be forgotten, and it comes again.
      if (message.doneAt >= since - CLAIM_GRAIN || (message.ackedAt ?? 0) >= since) message.ackedAt = undefined;
      if (message.mayBeLost || (message.publishedAt ?? Infinity) < since) continue;
      if (isExpected(message)) this.#left(message);
      message.mayBeLost = true;
    }
  }

  clockStepped(by: number): void {
    const { world } = this.#options;
    this.#steppedAt = world.now;
    if (by < 0) this.#steppedUntil = world.now + CLAIM_GRAIN - by;
    this.#mixedUntil = world.now + LONGEST_LEASE;
    for (const message of this.#messages.values()) {
      for (const run of message.runs) run.isExcused = true;
      // It is due by the clock as it is when its call is run.
      if (message.calledUntil === Infinity) message.earliest += Math.min(0, by);
    }
  }

  conclude(calm: number): void {
    const lost = [...this.#messages.values()].filter(
      (message) => message.publishedAt !== undefined && isExpected(message),
    );
    if (lost.length === 0) return;
    const ids = lost.map(({ id }) => id);
    const text = `${ids.length} messages are not handled ${Math.round(calm / 1000)} s after all has been well: `;
    this.#options.violated('lost', text + ids.slice(0, 5).join(', '), ids.slice(0, 5));
  }

  /** Timers are a little late, and so may the signal be of a lease that has just ended. */
  #assertEnds(other: Run, run: Run): void {
    this.#options.world.after(TIMER_ERROR, () => {
      if (!isCurrent(other) || run.isExcused) return;
      this.#violated('overlap', `${run.id} is handled by ${other.process.name} and by ${run.process.name}`, run);
    });
  }

  /** What was acknowledged, as a process was told, never comes again. */
  #assertNotAgain({ id, ackedAt, firstDoneAt, calledUntil }: Tracked, run: Run): void {
    // An id that was published again after that is that of another message.
    if (ackedAt === undefined || run.begunAt <= ackedAt || calledUntil >= firstDoneAt) return;
    if (run.begunAt < this.#mixedUntil) return;
    this.#violated('again', `${id} begins again, although it was acknowledged`, run);
  }

  #assertFirst({ key, index, dueAt, earliest }: Tracked, run: Run): void {
    const before = this.#messages.get(`${key}-${index - 1}`);
    // What was not known to be stored yet, or is due later, need not be first.
    if (!before || !isExpected(before) || before.dueAt === undefined) return;
    if (before.dueAt > (dueAt ?? earliest)) return;
    this.#violated('order', `${run.id} begins before ${before.id} is done`, run);
  }

  #messageOf(id: string): Tracked {
    const message = this.#messages.get(id);
    if (!message) throw new Error(`Nobody has published ${id}`);
    return message;
  }

  #violated(rule: string, text: string, { id, process }: Run): void {
    this.#options.violated(rule, text, [id, process.name]);
  }
}

function isExpected({ done, hasEnded, mayBeLost }: Tracked): boolean {
  return done === 0 && !hasEnded && !mayBeLost;
}
