import type { TopicLimits } from '../../store/deliveries/limits.js';
import type { Outcome } from '../../store/deliveries/settle.js';
import type { Clock } from '../../time/clock.js';
import { whenPermitted } from './begin-estimate.js';
import { type AdmissionParts, ClaimAdmission, type Claims } from './claim-admission.js';
import type { HandlerPlace } from './handler-slots.js';
import { untilRenewed } from './late-permits.js';
import type { Admitted } from './permits.js';
import { SlotQueue } from './slot-queue.js';
import type { SuspectQuota } from './suspect-quota.js';
import { TopicHold } from './topic-hold.js';
import { TopicLimiter, type TopicLimiterOptions } from './topic-limiter.js';

/** How long it is known who waits for permits of a topic that is delivered at most once and has no leases, in milliseconds. */
const LIMITED_LEASE = 30_000;

/** After so long without a call, what always comes too late is starvation, in milliseconds: a pause of the process passes. */
const PATIENCE = 5000;

/** So long after the last one that was too late, there is nothing any more that starves; in milliseconds. */
const MEMORY = 30_000;

/** Its lease is 0 if the topic is delivered at most once. */
export interface AdmissionOptions extends HandlerPlace, TopicLimiterOptions {
  /** How many partitions the topic has. */
  readonly partitions: number;
  readonly suspects: SuspectQuota;
  /** Told once, until handlers are called again, that what limits permit always comes too late. */
  readonly onStarving: () => void;
}

/** What is handed over together. */
type Together = readonly { readonly delivery: Admitted }[];

/**
 * What may run of one topic in this process: the only place that knows of slots, permits, holds, suspects and starvation. Claims pass by
 * what {@link claims} gives; it hears of each delivery when it was claimed, when its outcome is decided, and when it is in flight no more.
 */
export class Admission {
  readonly #clock: Clock;
  readonly #parts: AdmissionParts;
  readonly #starvation: StarvationWatch;

  constructor(options: AdmissionOptions) {
    const { context, slots, priority, batch, suspects, lease } = options;
    this.#clock = context.clock;
    this.#starvation = new StarvationWatch(context.clock, options.onStarving);
    const limiter = new TopicLimiter({ ...options, lease: lease || LIMITED_LEASE });
    this.#parts = { slots, priority, batch, suspects, limiter, hold: new TopicHold(options) };
  }

  /** Admits the claims of a partition. */
  claims(claims: Claims): ClaimAdmission {
    return new ClaimAdmission(this.#parts, claims);
  }

  /**
   * For deliveries that cannot be given back, and have to wait for slots.
   *
   * @param begin makes a call, which has its slot
   */
  queue<T>(begin: (deliveries: readonly T[]) => void): SlotQueue<T> {
    return new SlotQueue(this.#parts, begin);
  }

  // ── the way of a delivery ─────────────────────────────────────────────────────────────────────────────────────────

  /** Deliveries were claimed, and are on their way from now on. */
  took(deliveries: readonly Admitted[]): void {
    for (const { weight } of deliveries) if (weight > 0) this.#parts.suspects.take(weight);
  }

  /**
   * Waits for the time from which limits let a call begin.
   *
   * @returns `undefined` if there is nothing to wait for
   */
  untilPermitted(together: Together): Promise<void> | undefined {
    return whenPermitted(this.#clock, together);
  }

  /** The same for deliveries that cannot be given back: what is over by then is asked for anew. */
  untilRenewed(together: Together): Promise<void> | undefined {
    const now = this.#clock.now();
    const isReady = together.every(({ delivery }) => !delivery.begin && !delivery.permits?.isOver(now));
    return isReady ? undefined : untilRenewed(this.#clock, this.#parts.limiter, together);
  }

  /**
   * Whether limits of its topic and its key still let a delivery begin. While it waited for its time, its lease may have ended: by now another
   * process may handle the message.
   */
  mayBegin({ mustBeginBy, endsAt, aborted }: Admitted, now: number): boolean {
    return now <= mustBeginBy && now < endsAt && !aborted && !this.#parts.hold.holds;
  }

  /** What might have begun goes back. */
  turnedAway({ mustBeginBy }: Admitted, now: number): void {
    if (now > mustBeginBy) this.#starvation.tooLate();
  }

  /** Deliveries are handed over. */
  begun(): void {
    this.#starvation.inTime();
  }

  /** The outcome of a delivery that this process has handed over, or was to, is decided. */
  decided(delivery: Admitted, outcome: Outcome): void {
    this.heed(outcome);
    if (delivery.startedAt === undefined) delivery.permits?.notCalled();
    this.leftRoom(delivery);
  }

  /** An outcome may hold the topic. */
  heed(outcome: Outcome): void {
    this.#parts.hold.heed(outcome);
  }

  /** A delivery takes no room of suspects any more. */
  leftRoom({ weight }: Admitted): void {
    if (weight > 0) this.#parts.suspects.release(weight);
  }

  /** A call needs its slot no more. */
  freeSlot(): void {
    this.#parts.slots.release(1);
  }

  /** A delivery is in flight no more. */
  ended(delivery: Admitted): void {
    delivery.permits?.ended();
  }

  // ── the topic ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Since when messages wait for permits; epoch milliseconds on the local clock, `undefined` if none do. */
  get limitedSince(): number | undefined {
    return this.#parts.limiter.limitedSince;
  }

  /** Since when what limits permit always comes too late; epoch milliseconds on the local clock, `undefined` if it does not. */
  get starvedSince(): number | undefined {
    return this.#starvation.since;
  }

  /** Other limits hold from now on. */
  changeLimits(limits: TopicLimits | undefined): void {
    this.#parts.limiter.change(limits);
  }

  /** There may be permits for this process, or others wait for those that it has. */
  permitsMoved(): void {
    this.#parts.limiter.told();
  }

  /** Asks for no more permits. What is in flight keeps those that it has. */
  leave(): void {
    this.#parts.limiter.leave();
  }

  /** Gives back what it has. */
  async stop(): Promise<void> {
    await Promise.all([this.#parts.limiter.stop(), this.#parts.hold.stop()]);
  }
}

/** Notices that what the limits of a topic permit is over, again and again, before its handlers can be called. */
class StarvationWatch {
  readonly #clock: Clock;
  readonly #onStarving: () => void;
  #firstAt: number | undefined;
  #lastAt = -Infinity;
  #hasTold = false;

  /** @param onStarving told once, until handlers are called again */
  constructor(clock: Clock, onStarving: () => void) {
    this.#clock = clock;
    this.#onStarving = onStarving;
  }

  /** Since when no handler was called, epoch milliseconds on the local clock; `undefined` if nothing starves. */
  get since(): number | undefined {
    return this.#hasTold && this.#clock.now() - this.#lastAt < MEMORY ? this.#firstAt : undefined;
  }

  /** What was permitted came too late, and goes back. */
  tooLate(): void {
    const now = this.#clock.now();
    if (now - this.#lastAt >= MEMORY) this.inTime();
    this.#lastAt = now;
    this.#firstAt ??= now;
    if (this.#hasTold || now - this.#firstAt < PATIENCE) return;
    this.#hasTold = true;
    this.#onStarving();
  }

  /** A handler is called. */
  inTime(): void {
    this.#firstAt = undefined;
    this.#hasTold = false;
  }
}
