import type { ClaimRequest, ClaimResult } from '../../store/deliveries/claim.js';
import type { Begins } from '../../store/deliveries/permits.js';
import { MAX_BATCH, type Partition } from '../../store/partition.js';
import type { Clock } from '../../time/clock.js';
import { BeginEstimate, BeginTimes } from './begin-estimate.js';
import { followed } from './expected-time.js';
import type { Claimant, HandlerPlace } from './handler-slots.js';
import type { LimitedClaimant, Permits } from './permits.js';
import type { SuspectQuota, SuspectRoom, SuspectTaker } from './suspect-quota.js';
import type { KnownHold, TopicHold } from './topic-hold.js';
import type { TopicLimiter } from './topic-limiter.js';

/** Number of messages that a claim has slots for if it is not known how many are due: few, to leave some for other partitions. */
const FIRST_CLAIM = 16;

/** Divisor of the free slots for the share that a claim can have beyond that, if earlier claims have brought more. */
const SHARE_OF_FREE = 4;

/** For how long after its turn a claimant can go ahead of others, in milliseconds. */
const AHEAD_FOR = 10;

/** Parts that have to let a claim pass. */
export interface AdmissionParts extends HandlerPlace {
  readonly clock: Clock;
  readonly suspects: SuspectQuota;
  readonly limiter: TopicLimiter;
  readonly hold: TopicHold;
}

/** Claims of one partition, as their admission sees them. */
export interface Claims {
  readonly partition: Partition;
  /** Whether anything may be claimed now. */
  readonly mayClaim: boolean;
  /** Whether something is due now, or within a moment. */
  readonly isDue: boolean;
  /** Whether a claim would end deliveries, too. */
  readonly endsDeliveries: boolean;
  /** Claims once, as far as it is admitted, and calls {@link ClaimAdmission.done} at the end. */
  claim(): void;
}

/** Fields of a claim about limits and quotas. */
type ClaimTerms = Required<Pick<ClaimRequest, 'keyLimits' | 'begin' | 'counts' | 'room'>>;

/** Answer to a claim by the partition's owner. */
export type Claimed = Exclude<ClaimResult, { status: 'not-owner' }>;

/** Admits the claims of one partition with slots, permits and room for suspects, one claim at a time. */
export class ClaimAdmission implements Claimant, SuspectTaker, LimitedClaimant {
  readonly #parts: AdmissionParts;
  readonly #claims: Claims;
  readonly #size: ClaimSize;
  readonly #begins = new BeginEstimate();
  /** Number of due messages that the last claim left, if the topic is limited. */
  #due = 0;
  #isClaiming = false;
  /** Time of the latest claim whose turn it was, in epoch milliseconds on the local clock. */
  #turnAt = -Infinity;
  /** Whether something may have become due while the claim was under way. */
  #again = false;
  #hasQuit = false;
  // The following fields belong to the claim under way.
  #slots = 0;
  #permits: Permits | undefined;
  #room: SuspectRoom | undefined;
  /** Hold that the partition knew of before the claim was sent. */
  #knownHold: KnownHold | undefined;
  #brought = 0;

  constructor(parts: AdmissionParts, claims: Claims) {
    this.#parts = parts;
    this.#claims = claims;
    this.#size = new ClaimSize(parts.batch);
  }

  // ── between claims ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Joins the claimants, and asks for slots at once. */
  join(): void {
    this.#parts.slots.join(this);
    this.lookAgain();
  }

  /** Stops asking. */
  quit(): void {
    this.#hasQuit = true;
    this.#parts.slots.quit(this);
    this.#parts.limiter.forget(this);
    this.#parts.suspects.forget(this);
  }

  /** Asks for a turn, at once or when the claim under way is over: something may be due, or permits may be available. */
  lookAgain(): void {
    if (this.#isClaiming) this.#again = true;
    else if (this.#claims.mayClaim) this.#parts.slots.request(this);
    else this.#parts.slots.withdraw(this);
  }

  get priority(): number {
    return this.#parts.priority;
  }

  get wanted(): number {
    const { limiter, slots, batch } = this.#parts;
    // It should not ask for permits that it cannot use.
    if (limiter.isLimited) return Math.min(Math.ceil(this.#wantedPermits / batch), limiter.shareOf(slots.free));
    return this.#size.slots(slots.free);
  }

  get isAboutToAsk(): boolean {
    return this.#claims.mayClaim && this.#claims.isDue;
  }

  /** A claim that ends the deliveries of the one before saves a call. It must not keep others waiting for long. */
  get goesAhead(): boolean {
    return this.#claims.endsDeliveries && this.#parts.clock.now() < this.#turnAt + AHEAD_FOR;
  }

  get waitsForSlots(): boolean {
    return this.#parts.slots.keepsWaiting(this);
  }

  get waitsForPermits(): boolean {
    return this.#parts.limiter.keepsWaiting(this);
  }

  get #wantedPermits(): number {
    return Math.min(Math.max(1, this.#due), MAX_BATCH);
  }

  grant(slots: number): void {
    if (!this.#claims.mayClaim) {
      this.#parts.slots.release(slots);
      this.#parts.slots.withdraw(this);
      return;
    }
    if (!this.goesAhead) this.#turnAt = this.#parts.clock.now();
    this.#isClaiming = true;
    this.#again = false;
    this.#slots = slots;
    this.#brought = 0;
    this.#claims.claim();
  }

  // ── of the claim under way ────────────────────────────────────────────────────────────────────────────────────────

  /** Returns the most messages that it can bring; a promise, which never rejects, if it needs permits. */
  most(): number | Promise<number> {
    return this.#parts.limiter.isLimited ? this.#permitted() : this.#slots * this.#parts.batch;
  }

  /** Takes permits, and gives back the slots for which there are none. Without a permit, the claim follows when there may be some. */
  async #permitted(): Promise<number> {
    const { limiter, batch } = this.#parts;
    const most = this.#slots * batch;
    const permits = await limiter.take(this, Math.min(most, this.#wantedPermits));
    this.#permits = permits;
    this.#release(this.#slots - Math.ceil(permits.count / batch));
    return Math.min(most, permits.count);
  }

  /** Slots that it has. */
  get slots(): number {
    return this.#slots;
  }

  get permits(): Permits | undefined {
    return this.#permits;
  }

  /** Returns the terms of a claim; call this before it is sent. */
  terms(): ClaimTerms {
    const { suspects, limiter, hold } = this.#parts;
    // If it was refused before, others may be ahead of it now.
    this.leaveRoom();
    this.#room = suspects.enter();
    this.#knownHold = hold.knownTo(this.#claims.partition);
    const { keyLimits, isLimited: counts } = limiter;
    return { keyLimits, counts, begin: this.#begins.claimWindow, room: this.#room.room };
  }

  /**
   * Returns how many messages the claim can bring if it is sent at `sentAt`, in epoch milliseconds on the local clock. A repeat that has no
   * more slots, or no usable permit, asks for nothing new.
   */
  max(wanted: number, sentAt: number): number {
    const isInTime = this.#permits?.mayBegin(sentAt) ?? true;
    return isInTime ? Math.min(wanted, this.#slots * this.#parts.batch) : 0;
  }

  /** Records how long the claim took to be answered, in milliseconds. */
  measured(duration: number): void {
    this.#begins.answered(duration);
  }

  /** Returns the times at which limits let the claimed messages begin; `undefined` if at any time. */
  beginTimes(begins: Begins | undefined): BeginTimes[] | undefined {
    const granted = begins && new BeginTimes(this.#begins, begins);
    const times = [this.#permits?.begin, granted].filter((one) => one !== undefined);
    return times.length > 0 ? times : undefined;
  }

  /** Records the answer to a claim of at most `max` messages; takes slots for those that it lost while it waited. */
  answered({ status, messages, due = 0 }: Claimed, max: number): void {
    const { hold, slots, batch } = this.#parts;
    if (status === 'claimed') hold.ended(this.#knownHold);
    this.#brought = messages.length;
    this.#due = due;
    this.#size.claimed(this.#brought, max);
    this.#slots += slots.takeNow(Math.max(0, Math.ceil(this.#brought / batch) - this.#slots));
  }

  /**
   * Records how many slots the claimed messages use.
   *
   * @param heldBack whether it left suspects for which there was no room
   */
  used(slots: number, heldBack: boolean): void {
    this.#slots -= slots;
    if (heldBack && this.#room && !this.#hasQuit) this.#parts.suspects.await(this, this.#room);
    this.leaveRoom();
  }

  /** Leaves the room for suspects to others. */
  leaveRoom(): void {
    if (this.#room) this.#parts.suspects.leave(this.#room);
  }

  /** Lets later topics go ahead meanwhile. */
  standBack(): void {
    this.#parts.slots.withdraw(this);
  }

  /** Gives up its slots: an unreachable partition must not keep others waiting, which may be on another server. */
  loseSlots(): void {
    this.#release(this.#slots);
    this.standBack();
  }

  /** Ends the claim, even a failed one; gives back unused slots and permits. */
  done({ mayGoOn }: { readonly mayGoOn: boolean }): void {
    this.leaveRoom();
    this.#permits?.claimed(this.#brought);
    this.#permits = undefined;
    this.#isClaiming = false;
    this.#release(this.#slots);
    if (this.#again && mayGoOn && this.#claims.mayClaim) this.#parts.slots.request(this);
    else this.standBack();
  }

  #release(slots: number): void {
    if (slots <= 0) return;
    this.#slots -= slots;
    this.#parts.slots.release(slots);
  }
}

/** Estimates how many slots a partition needs for its next claim, from the results of earlier claims. */
class ClaimSize {
  readonly #batch: number;
  /** Whether the last claim got everything it asked for, so that there is more. */
  #isBacklog = false;
  /** Number of messages from consecutive claims that each left some. */
  #inRow = 0;
  /** Usual size of such a row, among claims that bring any. */
  #usual = 0;

  /** @param batch messages per slot */
  constructor(batch: number) {
    this.#batch = batch;
  }

  /** Records that a claim of at most `max` messages has brought `count`. */
  claimed(count: number, max: number): void {
    this.#inRow = count + (this.#isBacklog ? this.#inRow : 0);
    this.#isBacklog = count > 0 && count >= max;
    if (count > 0) this.#usual = followed(this.#usual, Math.min(this.#inRow, MAX_BATCH));
  }

  /** @param free number of free slots */
  slots(free: number): number {
    if (this.#isBacklog) return Math.floor(MAX_BATCH / this.#batch);
    const usual = Math.min(Math.ceil(this.#usual / this.#batch), Math.floor(free / SHARE_OF_FREE));
    return Math.max(Math.ceil(FIRST_CLAIM / this.#batch), usual);
  }
}
