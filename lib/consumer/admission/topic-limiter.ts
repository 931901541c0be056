import { type Limits, type TopicLimits, keyLimits, sharedLimits } from '../../store/deliveries/limits.js';
import type { PermitReply, ReturnedPermits } from '../../store/deliveries/permits.js';
import { Loop } from '../../time/loop.js';
import type { Startable } from '../../time/startable.interface.js';
import type { ConsumerContext } from '../consumer-context.js';
import { BeginEstimate, BeginTimes } from './begin-estimate.js';
import { PermitCalls } from './permit-calls.js';
import { PermitLine } from './permit-line.js';
import { type Ask, FlightTerm, type LimitedClaimant, type PermitOwner, Permits, shareOut } from './permits.js';

/** How soon to ask again after a call has failed, in milliseconds. */
const RETRY_PAUSE = 250;

/** Shares of a lease after which permits to be in flight are renewed. */
const RENEWALS = 3;

export interface TopicLimiterOptions {
  readonly context: ConsumerContext;
  readonly topic: string;
  /** Milliseconds. */
  readonly lease: number;
  /** After how long to ask again in any case, as signals may get lost; in milliseconds. */
  readonly patience: number;
  readonly limits: TopicLimits | undefined;
}

/**
 * Asks the fleet for the deliveries of a limited topic that may begin, for all partitions of this process together. Permits to be in
 * flight are used again and again, without a call, as far as other processes leave them to this one.
 */
export class TopicLimiter implements Startable, PermitOwner {
  readonly #options: TopicLimiterOptions;
  readonly #calls: Loop;
  readonly #broker: PermitCalls;
  #limits: Limits | undefined;
  #keyLimits: Limits | undefined;
  #asks: Ask[] = [];
  /** Those that got nothing. */
  readonly #line: PermitLine;
  #latestTerm = new FlightTerm();
  /** Others may wait for what it has. */
  #isAsked = false;
  /** Permits of the rate that led to no handler call, by when they were permitted. */
  #returned = new Map<number, number>();
  #sequence = 0;
  #stopped = false;
  readonly #begins = new BeginEstimate();
  /** These times are epoch milliseconds on the local clock. */
  #renewAt = Infinity;
  #retriesAt = -Infinity;
  /** Those whose asks the call under way is to answer. */
  #asked: readonly Ask[] = [];
  /** Other limits hold since the latest call. */
  #hasChanged = false;

  constructor(options: TopicLimiterOptions) {
    this.#options = options;
    this.#set(options.limits);
    const { context, topic } = options;
    this.#line = new PermitLine(context, topic);
    this.#broker = new PermitCalls(context, topic, () => this.#dismiss());
    this.#calls = new Loop({ clock: context.clock, run: () => this.#run(), gather: true });
  }

  /** Whether deliveries need permits. */
  get isLimited(): boolean {
    return this.#limits !== undefined;
  }

  /** What every key may have; `undefined` for no limits. */
  get keyLimits(): Limits | undefined {
    return this.#keyLimits;
  }

  /** Since when messages wait for permits; epoch milliseconds on the local clock, `undefined` if none do. */
  get limitedSince(): number | undefined {
    return this.#line.limitedSince;
  }

  /**
   * How many slots a claimant should take at most before it asks, so that those that were told with it can ask beside it.
   *
   * @param free slots
   */
  shareOf(free: number): number {
    return this.#line.shareOf(free);
  }

  /** Whether a claimant waits to be told. */
  keepsWaiting(claimant: LimitedClaimant): boolean {
    return this.#line.has(claimant);
  }

  /** Other limits hold from now on. */
  change(limits: TopicLimits | undefined): void {
    this.#set(limits);
    this.#hasChanged = this.#sequence > 0;
    this.#calls.poke();
    this.#line.open();
  }

  #set(limits: TopicLimits | undefined): void {
    this.#limits = limits && sharedLimits(limits);
    // What is in flight needs no permit any more.
    if (this.#limits?.inFlight === undefined) {
      this.#term.endsAt = Infinity;
      this.#renewAt = Infinity;
    }
    this.#keyLimits = limits && keyLimits(limits);
  }

  start(): void {}

  /** Asks for nothing more. What is in flight keeps its permits, until {@link stop} or their end. */
  leave(): void {
    this.#stopped = true;
    this.#broker.giveUp();
    for (const { answer } of this.#asks.splice(0)) answer(this.#none());
    this.#line.close();
    if (this.#sequence > 0) this.#calls.poke();
  }

  /** Gives back what it has; resolves once that is known or has failed. */
  async stop(): Promise<void> {
    this.leave();
    await this.#calls.idle();
    await this.#calls.stop();
  }

  /**
   * @param wanted deliveries that could begin, one at least
   * @returns none if a limit allows no more; then the claimant is told when to ask again. Never rejects
   */
  async take(claimant: LimitedClaimant, wanted: number): Promise<Permits> {
    this.#line.came(claimant);
    if (this.#stopped) return this.#none();
    const isEarly = !this.#line.isOpen && this.#usable === 0;
    if (!this.#broker.isLate && !isEarly) {
      return new Promise((answer) => {
        this.#asks.push({ claimant, wanted, answer });
        this.#calls.poke();
      });
    }
    // Whoever comes while an answer is late is told once it is there.
    if (this.#broker.isLate) this.#line.add(claimant);
    else this.#line.wait(claimant);
    return this.#none();
  }

  /** A claimant wants nothing any more. */
  forget(claimant: LimitedClaimant): void {
    this.#line.forget(claimant);
  }

  /** Another process has told that there may be permits, or that it waits for some. */
  told(): void {
    this.#isAsked = this.#term.held > 0;
    this.#line.open();
    if (this.#isAsked) this.#calls.poke();
  }

  unused(permittedAt: number, count: number): void {
    if (!this.#limits?.rate) return;
    this.#returned.set(permittedAt, (this.#returned.get(permittedAt) ?? 0) + count);
    this.#calls.poke();
  }

  ended(term: FlightTerm, count: number): void {
    term.used -= count;
    if (term !== this.#term) return;
    if (this.#usable > 0 && !this.#line.isEmpty) this.#line.wake();
    else if (term.idle > 0) this.#calls.poke();
  }

  /** The permits to be in flight that this process has now. */
  get #term(): FlightTerm {
    if (this.#options.context.clock.now() >= this.#latestTerm.endsAt) this.#latestTerm = new FlightTerm();
    return this.#latestTerm;
  }

  /** Permits to be in flight that may be used without asking; a rate has to be asked for each time. */
  get #usable(): number {
    return this.#limits?.rate ? 0 : this.#term.usable;
  }

  #none(): Permits {
    return new Permits(this, { count: 0, permittedAt: 0, begin: undefined, term: undefined });
  }

  /**
   * Answers all that was asked for by now, with one call at most. Never rejects.
   *
   * @returns when to run again, in milliseconds
   */
  async #run(): Promise<number | undefined> {
    const { clock } = this.#options.context;
    if (clock.now() < this.#retriesAt) {
      this.#refuse(this.#asks.splice(0));
      return this.#retriesAt - clock.now();
    }
    // Who says nothing of what it waits for counts as one that wants nothing any more.
    if (!this.#line.isEmpty && this.#hasToTell(0)) this.#line.open();
    const asks = this.#asks;
    this.#asks = [];
    const unmet = this.#useIdle(asks);
    const wanted = unmet.reduce((sum, ask) => sum + ask.wanted, 0);
    if ((wanted > 0 && this.#line.isOpen) || this.#hasToTell(wanted)) await this.#call(unmet, wanted);
    else this.#refuse(unmet);
    return this.#nextRun();
  }

  /** Uses permits that nothing else does; answers what is left to be asked for. */
  #useIdle(asks: readonly Ask[]): readonly Ask[] {
    const [usable, term] = [this.#usable, this.#term];
    if (usable === 0 || asks.length === 0) return asks;
    const shares = shareOut(usable, asks);
    const unmet: Ask[] = [];
    asks.forEach((ask, i) => {
      const count = shares[i] as number;
      term.used += count;
      if (count > 0) ask.answer(new Permits(this, { count, permittedAt: 0, begin: undefined, term }));
      else unmet.push(ask);
    });
    if (unmet.length === 0) this.#line.ends();
    return unmet;
  }

  /** Whether the others have to know something, whatever this process wants. */
  #hasToTell(wanted: number): boolean {
    const { clock } = this.#options.context;
    const { held, idle } = this.#term;
    if (this.#stopped || !this.#limits) return this.#sequence > 0 && (idle > 0 || this.#stopped);
    return (
      this.#isAsked ||
      this.#hasChanged ||
      this.#returned.size > 0 ||
      clock.now() >= this.#renewAt ||
      (this.#limits.inFlight !== undefined && held > this.#kept(wanted))
    );
  }

  /** How many permits to be in flight to keep: while nobody else wants them, for a while also those that nothing uses. */
  #kept(wanted: number): number {
    const term = this.#term;
    // A rate has to be asked for each time, so nothing is saved by keeping permits.
    if (this.#stopped || this.#limits?.rate) return term.used;
    if (wanted > 0) return term.used + term.usable;
    return this.#isAsked ? term.used : term.keptUnasked(this.#options.context.clock.now());
  }

  async #call(asks: readonly Ask[], wanted: number): Promise<void> {
    const { context, topic, lease, patience } = this.#options;
    const { broker, clock, events, session } = context;
    const limits = this.#limits ?? {};
    const held = limits.inFlight === undefined ? 0 : this.#kept(wanted);
    const idle = Math.max(0, held - this.#term.used);
    const returned: ReturnedPermits[] = Array.from(this.#returned, ([permittedAt, count]) => ({ permittedAt, count }));
    this.#returned = new Map();
    this.#isAsked = false;
    this.#hasChanged = false;
    const sentAt = clock.now();
    const sequence = ++this.#sequence;
    const begin = this.#begins.window;
    const request = { session, sequence, limits, held, idle, wanted, lease, patience, returned, begin };
    try {
      this.#asked = asks;
      const reply = await this.#broker.permit(request);
      const isFlight = limits.inFlight !== undefined && this.#limits?.inFlight !== undefined;
      // What it permits is over by now, and others may have it.
      if (isFlight && (clock.now() >= sentAt + lease || reply.held < reply.permitted)) this.#dismiss();
      const term = this.#term;
      term.endsAt = isFlight ? sentAt + lease : Infinity;
      term.held = reply.held;
      term.keep = reply.keep ?? Infinity;
      // From when it was sent, since the next call takes as long until it is there.
      this.#line.closeUntil(reply.wait === undefined ? -Infinity : sentAt + reply.wait);
      this.#renewAt = term.held > 0 ? sentAt + lease / RENEWALS : Infinity;
      this.#hand(this.#asked, reply);
      for (const to of reply.sessions)
        void broker.fleet.tell({ to, signal: { kind: 'permits', topic } }).catch(() => {});
    } catch (failure) {
      events.emit('errors', { source: 'limit', topic, error: failure });
      this.#retriesAt = clock.now() + RETRY_PAUSE;
      this.#line.closeUntil(this.#retriesAt);
      this.#refuse(this.#asked);
    } finally {
      this.#asked = [];
      if (!this.#line.isEmpty) this.#line.openInTime();
    }
  }

  /** Nobody waits for the answer with slots; what it permits is used by whoever asks then, or given back. */
  #dismiss(): void {
    for (const { claimant, answer } of [...this.#asked, ...this.#asks.splice(0)]) {
      this.#line.add(claimant);
      answer(this.#none());
    }
    this.#asked = [];
  }

  #hand(asks: readonly Ask[], { permitted, permittedAt, begins, wait }: PermitReply): void {
    const begin = begins && new BeginTimes(this.#begins, begins);
    const term = this.#limits?.inFlight === undefined ? undefined : this.#term;
    const shares = shareOut(permitted, asks);
    if (asks.length === 0 && permitted > 0) {
      // Those who have asked have given up waiting, and are told to ask again.
      begin?.ready(this.#options.context.clock.now());
      this.unused(permittedAt, permitted);
      return this.#line.open();
    }
    if (term) term.used += permitted;
    if (wait === undefined) this.#line.ends();
    else if (asks.length > 0) this.#line.begins();
    asks.forEach(({ claimant, answer }, i) => {
      const count = shares[i] as number;
      if (count === 0) this.#line.wait(claimant);
      answer(new Permits(this, { count, permittedAt, begin, term }));
    });
  }

  #refuse(asks: readonly Ask[]): void {
    for (const { claimant, answer } of asks) {
      this.#line.wait(claimant);
      answer(this.#none());
    }
  }

  #nextRun(): number | undefined {
    const { clock } = this.#options.context;
    const lingersUntil = this.#term.lingersUntil(clock.now());
    const at = Math.min(this.#renewAt, this.#limits && !this.#stopped ? lingersUntil : Infinity);
    return at === Infinity ? undefined : Math.max(1, at - clock.now(), this.#retriesAt - clock.now());
  }
}
