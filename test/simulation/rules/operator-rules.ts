import { LEASE, OPERATED } from '../fleet/topics.js';
import type { Payload } from '../work/payload.js';
import { AFTERMATH, type Calm } from './calm.js';
import { type Caller, Known, STRAGGLES } from './known.js';
import type { MessageRules } from './message-rules.js';
import { type IsLost, type RuleOptions, type Run, TIMER_ERROR } from './run.js';

/** How late something begins at most that nothing keeps waiting while all is well, in milliseconds. */
const LATENESS = 3000;

export interface OperatorRuleOptions extends RuleOptions {
  readonly messages: MessageRules;
  readonly calm: Calm;
}

/** A message that operators act upon. */
export interface Operated {
  readonly payload: Payload;
  readonly key: string;
  /** Which of its payloads it has. */
  readonly edition: Known<number>;
  /** When it is due, by the clock of Redis. */
  readonly dueAt: Known<number>;
  /** Grows with each payload that somebody wants it to have. */
  editions: number;
  begun: number;
  /** World time. */
  begunAt: number;
  /** The latest one. */
  run: Run | undefined;
  /** Calls that may change its state, and when the latest of them can have done so. World time. */
  open: number;
  touchedAt: number;
  /** From when on it never begins again, as somebody was told. World time. */
  goneFrom: number;
}

/** A call that changes the state of some messages. */
export interface Action {
  readonly by: Caller;
  /** World time. */
  readonly askedAt: number;
  readonly touched: Set<Operated>;
  /** What it may do to all messages, those that are published meanwhile, too. */
  readonly ofAll?: 'ends' | 'moves';
}

/** What operators were told about messages and their topic holds. */
export class OperatorRules {
  readonly paused: Known<boolean>;
  /** Until when nothing begins, by the clock of Redis. */
  readonly heldUntil: Known<number>;
  readonly #options: OperatorRuleOptions;
  readonly #all = new Map<string, Operated>();
  /** All that are not done, and some that are. */
  readonly #some = new Set<Operated>();
  /** Those that change all messages there are. */
  readonly #ofAll = new Set<Action>();
  #lostAt = -Infinity;
  /** Until when Redis may not know that there is such a topic. World time. */
  #unknownUntil = -Infinity;

  constructor(options: OperatorRuleOptions) {
    this.#options = options;
    this.paused = new Known(options.world, false);
    this.heldUntil = new Known(options.world, -Infinity);
  }

  /** Those that somebody expects to be handled. */
  get current(): readonly Operated[] {
    return this.#undone.filter(({ payload }) => !this.#options.messages.isOver(payload.id));
  }

  /** Those that may still be handled. */
  get #undone(): readonly Operated[] {
    for (const message of this.#some) if (this.#options.messages.isDone(message.payload.id)) this.#some.delete(message);
    return [...this.#some];
  }

  get(id: string): Operated | undefined {
    return this.#all.get(id);
  }

  publishing(payload: Payload): void {
    const { world } = this.#options;
    const message = {
      payload,
      key: payload.key,
      edition: new Known(world, 0),
      dueAt: new Known(world, payload.earliest),
      editions: 0,
      begun: 0,
      begunAt: -Infinity,
      run: undefined,
      open: 0,
      touchedAt: -Infinity,
      goneFrom: Infinity,
    };
    this.#all.set(payload.id, message);
    this.#some.add(message);
    for (const action of this.#ofAll) {
      if (action.by.isDead && world.now > action.by.disturbedAt + STRAGGLES) this.#ofAll.delete(action);
      else this.#touch(message, action);
    }
  }

  /** @param edition of the payload that it comes with */
  begin(run: Run, edition: number): void {
    const { server } = this.#options;
    const { begunAt } = run;
    // What was handed out before that may begin for as long as its lease lasts.
    const claimedBy = begunAt - LEASE - TIMER_ERROR;
    if (this.paused.value === true && this.paused.since < claimedBy) {
      this.#violated('paused', `${run.id} begins although its topic is paused`, run);
    }
    if ((this.heldUntil.value ?? 0) > server.now() && this.heldUntil.since < claimedBy) {
      this.#violated('paused', `${run.id} begins although its topic is held`, run);
    }
    const message = this.#all.get(run.id);
    if (!message) return;
    message.begun++;
    message.begunAt = begunAt;
    message.run = run;
    if (begunAt > message.goneFrom) this.#violated('gone', `${run.id} begins although it is gone`, run);
    const known = message.edition.value;
    if (known !== undefined && known !== edition) {
      this.#violated('edit', `${run.id} begins with payload ${edition}, and has payload ${known}`, run);
    }
  }

  /** Somebody is about to change the state of a message. */
  asked(by: Caller, message: Operated): Action {
    const action = { by, askedAt: this.#options.world.now, touched: new Set<Operated>() };
    this.#touch(message, action);
    return action;
  }

  /** Somebody is about to change the state of all there are. */
  askedOfAll(by: Caller, ofAll: 'ends' | 'moves'): Action {
    const action = { by, askedAt: this.#options.world.now, touched: new Set<Operated>(), ofAll };
    for (const message of this.#undone) this.#touch(message, action);
    this.#ofAll.add(action);
    return action;
  }

  ended(action: Action): void {
    this.#ofAll.delete(action);
    for (const message of action.touched) {
      message.open--;
      message.touchedAt = this.#options.world.now;
      if (action.ofAll === 'moves') message.dueAt.forget();
    }
  }

  failed(action: Action): void {
    this.#options.world.after(STRAGGLES, () => this.ended(action));
  }

  #touch(message: Operated, { touched, ofAll }: Action): void {
    touched.add(message);
    message.open++;
    if (ofAll === 'ends') this.mayEnd(message);
    if (ofAll !== 'moves') return;
    this.moving(message, -Infinity);
    message.dueAt.forget();
  }

  /** Nobody expects it to be handled any more. */
  mayEnd({ payload }: Operated): void {
    this.#options.messages.mayBeGone(payload.id);
  }

  /** Somebody was told that it is gone. */
  gone(message: Operated, { askedAt }: Action): void {
    if (askedAt > this.#lostAt) message.goneFrom = this.#options.world.now;
  }

  /**
   * Somebody was told that it was in flight, and does not come again after that.
   *
   * @param running what handled it when that was asked for
   */
  cancelledInFlight(message: Operated, { askedAt }: Action, running: Run | undefined): void {
    if (askedAt <= this.#lostAt) return;
    const isThat = running !== undefined && running === message.run;
    const isKnown = isThat && (!running.isOver || codeOf(running.signal) === 'CANCELLED');
    // Another delivery may be on its way, and begins at any time of its lease.
    message.goneFrom = this.#options.world.now + (isKnown ? 0 : LEASE + TIMER_ERROR);
  }

  /** Whether it waits for sure, and has waited since before that time. One that is damaged dies without a call of its handler. */
  waits({ payload: { id }, begun, open, touchedAt }: Operated, since: number): boolean {
    const { messages } = this.#options;
    return begun === 0 && open === 0 && touchedAt < since && messages.isStored(id, since) && !messages.isDamaged(id);
  }

  /**
   * Somebody was told that there is no such message.
   *
   * @param waited whether it did when it was asked for
   */
  notFound({ payload, begun, open, touchedAt }: Operated, { askedAt }: Action, waited: boolean): void {
    const doubtfulUntil = Math.max(touchedAt, this.#lostAt, this.#unknownUntil);
    if (!waited || begun > 0 || open > 1 || doubtfulUntil >= askedAt) return;
    this.#options.violated('unknown', `${payload.id} is not found, although it waits`, [payload.id]);
  }

  /** Somebody wants it to be due then. */
  moving({ payload }: Operated, dueAt: number): void {
    this.#options.messages.mayBegin(payload.id, dueAt);
  }

  moved(message: Operated, dueAt: number): void {
    const { messages } = this.#options;
    if (message.open > 1) message.dueAt.forget();
    // What was done and comes again, since Redis has forgotten it, is none of those that are moved together.
    const isFollowed = message.dueAt.value !== undefined && !messages.isDone(message.payload.id);
    if (isFollowed) messages.beginsFrom(message.payload.id, dueAt);
  }

  /** Something has happened after which nothing may keep these messages waiting any more. */
  isSoon(all: readonly Operated[]): void {
    const { world, calm, messages, violated } = this.#options;
    const since = world.now;
    const due = this.#isRunning ? all.filter((one) => this.#isDue(one)) : [];
    if (due.length === 0) return;
    world.after(LATENESS, () => {
      const isHeldBack = !this.#isRunning || Math.max(this.paused.since, this.heldUntil.since) > since;
      if (calm.from > since || isHeldBack) return;
      for (const { payload, begunAt, open, touchedAt } of due) {
        if (begunAt >= since || open > 0 || touchedAt > since || !messages.isStored(payload.id, since)) continue;
        violated('late', `${payload.id} has been due for ${LATENESS} ms, and nobody begins`, [payload.id]);
      }
    });
  }

  #isDue({ payload, dueAt, begun, open }: Operated): boolean {
    const { messages, server, world } = this.#options;
    const isDue = (dueAt.value ?? Infinity) <= server.now();
    return isDue && begun === 0 && open === 0 && messages.isStored(payload.id, world.now);
  }

  get #isRunning(): boolean {
    return this.paused.value === false && (this.heldUntil.value ?? Infinity) <= this.#options.server.now();
  }

  /** Only the topic as a whole: what is due is due by another clock. */
  clockStepped(): void {
    this.heldUntil.doubt();
    for (const { dueAt, payload, open } of this.#all.values()) {
      dueAt.doubt();
      if (open > 0) this.#options.messages.mayBegin(payload.id, -Infinity);
    }
  }

  /** @param since world time */
  redisLost(since: number, isLost: IsLost): void {
    const { world, messages } = this.#options;
    this.#lostAt = world.now;
    // Those who live tell it again.
    if (isLost(`{dq:${OPERATED}}`)) this.#unknownUntil = world.now + AFTERMATH;
    this.paused.lost(since);
    this.heldUntil.lost(since);
    for (const message of this.#all.values()) {
      message.edition.lost(since);
      message.dueAt.lost(since);
      if (message.dueAt.value === undefined) messages.mayBegin(message.payload.id, -Infinity);
      if (message.goneFrom >= since) message.goneFrom = Infinity;
      message.touchedAt = world.now;
    }
  }

  #violated(rule: string, text: string, { id, topic, process }: Run): void {
    this.#options.violated(rule, text, [id, topic, process.name]);
  }
}

/** Why a signal has aborted. */
function codeOf({ reason }: AbortSignal): unknown {
  return (reason as { code?: unknown } | undefined)?.code;
}
