import { type Limits, type TopicLimits, keyLimits, sharedLimits } from '../../store/deliveries/limits.js';
import type { PermitReply, ReturnedPermits } from '../../store/deliveries/permits.js';
import { Loop } from '../../time/loop.js';
import type { Startable } from '../../time/startable.interface.js';
import type { ConsumerContext } from '../consumer-context.js';
import { BeginEstimate, BeginTimes } from './begin-estimate.js';
import { PermitCalls } from './permit-calls.js';
import { PermitLine } from './permit-line.js';
import { type Ask, FlightTerm, type LimitedClaimant, type PermitOwner, Permits, shareOut } from './permits.js';

/** Pause before the next call after one has failed, in milliseconds. */
const RETRY_PAUSE = 250;

/** Renewals of in-flight permits per lease. */
const RENEWALS = 3;

export interface TopicLimiterOptions {
  readonly context: ConsumerContext;
  readonly topic: string;
  /** Milliseconds. */
  readonly lease: number;
  /** Time after which to ask again in any case, since signals may get lost; in milliseconds. */
  readonly patience: number;
  readonly limits: TopicLimits | undefined;
}

/**
 * Requests permits for deliveries of a limited topic from the fleet, for all partitions of this process together. In-flight permits are
 * reused without a call, as far as other processes leave them to this one.
 */
export class TopicLimiter implements Startable, PermitOwner {
  readonly #options: TopicLimiterOptions;
  readonly #calls: Loop;
  readonly #broker: PermitCalls;
  #limits: Limits | undefined;
  #keyLimits: Limits | undefined;
  #asks: Ask[] = [];
  /** Claimants that got nothing. */
  readonly #line: PermitLine;
  #latestTerm = new FlightTerm();
  /** Whether other processes may wait for permits that this one has. */
  #isAsked = false;
  /** Number of permits of the rate that led to no handler call, by the time at which they were permitted. */
  #returned = new Map<number, number>();
  #sequence = 0;
  #stopped = false;
  readonly #begins = new BeginEstimate();
  /** Time of the next renewal; like the next field, in epoch milliseconds on the local clock. */
  #renewAt = Infinity;
  #retriesAt = -Infinity;
  /** Asks that the call under way is to answer. */
  #asked: readonly Ask[] = [];
  /** Whether the limits have changed since the latest call. */
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

  /** Limits of each key; `undefined` if there are none. */
  get keyLimits(): Limits | undefined {
    return this.#keyLimits;
  }

  /** Time since which messages wait for permits, in epoch milliseconds on the local clock; `undefined` if none do. */
  get limitedSince(): number | undefined {
    return this.#line.limitedSince;
  }

  /**
   * Returns the most slots that a claimant should take before it asks, so that those woken together with it can ask side by side.
   *
   * @param free number of free slots
   */
  shareOf(free: number): number {
    return this.#line.shareOf(free);
  }

  /** Whether a claimant waits to be woken. */
  keepsWaiting(claimant: LimitedClaimant): boolean {
    return this.#line.has(claimant);
  }

  /** Applies new limits from now on. */
  change(limits: TopicLimits | undefined): void {
    this.#set(limits);
    this.#hasChanged = this.#sequence > 0;
    this.#calls.poke();
    this.#line.open();
  }

  #set(limits: TopicLimits | undefined): void {
    this.#limits = limits && sharedLimits(limits);
    // Deliveries in flight no longer need a permit.
    if (this.#limits?.inFlight === undefined) {
      this.#term.endsAt = Infinity;
      this.#renewAt = Infinity;
    }
    this.#keyLimits = limits && keyLimits(limits);
  }

  start(): void {}

  /** Stops asking. Deliveries in flight keep their permits until {@link stop} or the end of the permits. */
  leave(): void {
    this.#stopped = true;
    this.#broker.giveUp();
    for (const { answer } of this.#asks.splice(0)) answer(this.#none());
    this.#line.close();
    if (this.#sequence > 0) this.#calls.poke();
  }

  /** Gives its permits back; resolves once that is confirmed or has failed. */
  async stop(): Promise<void> {
    this.leave();
    await this.#calls.idle();
    await this.#calls.stop();
  }

  /**
   * @param wanted number of deliveries that could begin, at least one
   * @returns no permits if a limit allows no more; then the claimant is woken to ask again. Never rejects
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
    // A claimant that comes while an answer is late is woken once the answer arrives.
    if (this.#broker.isLate) this.#line.add(claimant);
    else this.#line.wait(claimant);
    return this.#none();
  }

  /** Removes a claimant that wants nothing any more. */
  forget(claimant: LimitedClaimant): void {
    this.#line.forget(claimant);
  }

  /** Handles another process's signal that there may be permits, or that it waits for some. */
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

  /** In-flight permits that this process has now. */
  get #term(): FlightTerm {
    if (this.#options.context.clock.now() >= this.#latestTerm.endsAt) this.#latestTerm = new FlightTerm();
    return this.#latestTerm;
  }

  /** Number of in-flight permits that can be used without a call; permits of a rate have to be requested each time. */
  get #usable(): number {
    return this.#limits?.rate ? 0 : this.#term.usable;
  }

  #none(): Permits {
    return new Permits(this, { count: 0, permittedAt: 0, begin: undefined, term: undefined });
  }

  /**
   * Answers all asks so far with at most one call. Never rejects.
   *
   * @returns time until the next run, in milliseconds
   */
  async #run(): Promise<number | undefined> {
    const { clock } = this.#options.context;
    if (clock.now() < this.#retriesAt) {
      this.#refuse(this.#asks.splice(0));
      return this.#retriesAt - clock.now();
    }
    // The broker takes a call that wants nothing as a sign that this process no longer waits.
    if (!this.#line.isEmpty && this.#hasToTell(0)) this.#line.open();
    const asks = this.#asks;
    this.#asks = [];
    const unmet = this.#useIdle(asks);
    const wanted = unmet.reduce((sum, ask) => sum + ask.wanted, 0);
    if ((wanted > 0 && this.#line.isOpen) || this.#hasToTell(wanted)) await this.#call(unmet, wanted);
    else this.#refuse(unmet);
    return this.#nextRun();
  }

  /** Answers asks with unused permits; returns the asks that are left. */
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

  /** Whether a call is needed to tell the others something, whatever this process wants. */
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

  /** Returns how many in-flight permits to keep: while no other process wants them, this includes unused ones for a while. */
  #kept(wanted: number): number {
    const term = this.#term;
    // Permits of a rate have to be requested each time, so keeping permits saves nothing.
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
      // Its permits have expired by now, and others may have them.
      if (isFlight && (clock.now() >= sentAt + lease || reply.held < reply.permitted)) this.#dismiss();
      const term = this.#term;
      term.endsAt = isFlight ? sentAt + lease : Infinity;
      term.held = reply.held;
      term.keep = reply.keep ?? Infinity;
      // Counted from when it was sent, since the next call takes as long to arrive.
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

  /** Lets no claimant keep slots for the answer; its permits go to those that ask by then, or are given back. */
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
      // The claimants that asked have stopped waiting, and are woken to ask again.
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
