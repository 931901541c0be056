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

/** Time for which a waiter for permits stays known if the topic is delivered at most once and has no leases, in milliseconds. */
const LIMITED_LEASE = 30_000;

/**
 * Time without a call after which permits that always come too late count as starvation, in milliseconds: a pause of the process passes.
 */
const PATIENCE = 5000;

/** Time after the last permit that came too late, after which the topic no longer starves; in milliseconds. */
const MEMORY = 30_000;

/** The lease is 0 if the topic is delivered at most once. */
export interface AdmissionOptions extends HandlerPlace, TopicLimiterOptions {
  /** Number of partitions of the topic. */
  readonly partitions: number;
  readonly suspects: SuspectQuota;
  /** Called once, until handlers are called again, when permits always come too late. */
  readonly onStarving: () => void;
}

/**
 * Decides which messages of one topic can run in this process: the only place that knows of slots, permits, holds, suspects and starvation.
 * Claims pass through {@link claims}; each delivery is reported when it is claimed, when its outcome is decided, and when it is no longer
 * in flight.
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
    this.#parts = { clock: context.clock, slots, priority, batch, suspects, limiter, hold: new TopicHold(options) };
  }

  /** Admits the claims of a partition. */
  claims(claims: Claims): ClaimAdmission {
    return new ClaimAdmission(this.#parts, claims);
  }

  /**
   * Returns a queue for deliveries that cannot be given back and have to wait for slots.
   *
   * @param begin makes a call, which has its slot already
   */
  queue<T>(begin: (deliveries: readonly T[]) => void): SlotQueue<T> {
    return new SlotQueue(this.#parts, begin);
  }

  // ── the way of a delivery ─────────────────────────────────────────────────────────────────────────────────────────

  /** Records that deliveries were claimed and are under way from now on. */
  took(deliveries: readonly Admitted[]): void {
    for (const { weight } of deliveries) if (weight > 0) this.#parts.suspects.take(weight);
  }

  /**
   * Waits until limits let a call begin.
   *
   * @returns `undefined` if there is nothing to wait for
   */
  untilPermitted(together: readonly Admitted[]): Promise<void> | undefined {
    return whenPermitted(this.#clock, together);
  }

  /** Does the same for deliveries that cannot be given back: expired permits are requested anew. */
  untilRenewed(together: readonly Admitted[]): Promise<void> | undefined {
    const now = this.#clock.now();
    const isReady = together.every(({ begin, permits }) => !begin && !permits?.isOver(now));
    return isReady ? undefined : untilRenewed(this.#clock, this.#parts.limiter, together);
  }

  /**
   * Whether limits of its topic and its key still let a delivery begin. Its lease may have ended while it waited: another process may
   * already handle the message.
   */
  mayBegin({ mustBeginBy, endsAt, aborted }: Admitted, now: number): boolean {
    return now <= mustBeginBy && now < endsAt && !aborted && !this.#parts.hold.holds;
  }

  /** Records that a delivery that could have begun goes back. */
  turnedAway({ mustBeginBy }: Admitted, now: number): void {
    if (now > mustBeginBy) this.#starvation.tooLate();
  }

  begun(): void {
    this.#starvation.inTime();
  }

  /** Records that the outcome of a delivery is decided, whether this process has handed it over or not. */
  decided(delivery: Admitted, outcome: Outcome): void {
    this.heed(outcome);
    if (delivery.startedAt === undefined) delivery.permits?.notCalled();
    this.leftRoom(delivery);
  }

  /** Holds the topic if an outcome asks for that. */
  heed(outcome: Outcome): void {
    this.#parts.hold.heed(outcome);
  }

  /** Frees the room for suspects that a delivery took. */
  leftRoom({ weight }: Admitted): void {
    if (weight > 0) this.#parts.suspects.release(weight);
  }

  freeSlot(): void {
    this.#parts.slots.release(1);
  }

  ended(delivery: Admitted): void {
    delivery.permits?.ended();
  }

  // ── the topic ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Time since which messages wait for permits, in epoch milliseconds on the local clock; `undefined` if none do. */
  get limitedSince(): number | undefined {
    return this.#parts.limiter.limitedSince;
  }

  /** Time since which permits always come too late, in epoch milliseconds on the local clock; `undefined` if they do not. */
  get starvedSince(): number | undefined {
    return this.#starvation.since;
  }

  /** Whether deliveries of the topic, or of a key, wait for others to end. */
  get isLimited(): boolean {
    const { isLimited, keyLimits } = this.#parts.limiter;
    return isLimited || keyLimits !== undefined;
  }

  /** Applies new limits from now on. */
  changeLimits(limits: TopicLimits | undefined): void {
    this.#parts.limiter.change(limits);
  }

  /** Looks for permits again: there may be some for this process, or others wait for those that it has. */
  permitsMoved(): void {
    this.#parts.limiter.told();
  }

  /** Asks for no more permits. Deliveries in flight keep theirs. */
  leave(): void {
    this.#parts.limiter.leave();
  }

  /** Gives back its permits. */
  async stop(): Promise<void> {
    await Promise.all([this.#parts.limiter.stop(), this.#parts.hold.stop()]);
  }
}

/** Detects that the permits of a topic expire, again and again, before its handlers can be called. */
class StarvationWatch {
  readonly #clock: Clock;
  readonly #onStarving: () => void;
  #firstAt: number | undefined;
  #lastAt = -Infinity;
  #hasTold = false;

  /** @param onStarving called once, until handlers are called again */
  constructor(clock: Clock, onStarving: () => void) {
    this.#clock = clock;
    this.#onStarving = onStarving;
  }

  /** Time since which no handler was called, in epoch milliseconds on the local clock; `undefined` if nothing starves. */
  get since(): number | undefined {
    return this.#hasTold && this.#clock.now() - this.#lastAt < MEMORY ? this.#firstAt : undefined;
  }

  /** Records that a permit came too late and goes back. */
  tooLate(): void {
    const now = this.#clock.now();
    if (now - this.#lastAt >= MEMORY) this.inTime();
    this.#lastAt = now;
    this.#firstAt ??= now;
    if (this.#hasTold || now - this.#firstAt < PATIENCE) return;
    this.#hasTold = true;
    this.#onStarving();
  }

  inTime(): void {
    this.#firstAt = undefined;
    this.#hasTold = false;
  }
}
