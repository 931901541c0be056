import type { ClaimRequest, ClaimResult } from '../../store/deliveries/claim.js';
import type { Begins } from '../../store/deliveries/permits.js';
import { MAX_BATCH, type Partition } from '../../store/partition.js';
import { BeginEstimate, BeginTimes } from './begin-estimate.js';
import { followed } from './expected-time.js';
import type { Claimant, HandlerPlace } from './handler-slots.js';
import type { LimitedClaimant, Permits } from './permits.js';
import type { SuspectQuota, SuspectRoom, SuspectTaker } from './suspect-quota.js';
import type { KnownHold, TopicHold } from './topic-hold.js';
import type { TopicLimiter } from './topic-limiter.js';

/** How many messages a claim has slots for if it is not known how much is due: few, to leave some for other partitions. */
const FIRST_CLAIM = 16;

/** The share of the free slots that it may have beyond that, if others have brought more. */
const SHARE_OF_FREE = 4;

/** What has to let a claim pass. */
export interface AdmissionParts extends HandlerPlace {
  readonly suspects: SuspectQuota;
  readonly limiter: TopicLimiter;
  readonly hold: TopicHold;
}

/** The claims of one partition, as what admits them sees them. */
export interface Claims {
  readonly partition: Partition;
  /** Whether anything may be claimed now. */
  readonly mayClaim: boolean;
  /** Whether something is due by now, or as good as now. */
  readonly isDue: boolean;
  /** It is their turn: claims once, as far as it is admitted, and tells when that is {@link ClaimAdmission.done}. */
  claim(): void;
}

/** What a claim tells of limits and quotas. */
type ClaimTerms = Pick<ClaimRequest, 'keyLimits' | 'begin' | 'counts' | 'room'>;

/** What the owner of a partition is answered. */
export type Claimed = Exclude<ClaimResult, { status: 'not-owner' }>;

/** Lets the claims of one partition pass: with slots, permits and room for suspects. One claim at a time. */
export class ClaimAdmission implements Claimant, SuspectTaker, LimitedClaimant {
  readonly #parts: AdmissionParts;
  readonly #claims: Claims;
  readonly #size: ClaimSize;
  readonly #begins = new BeginEstimate();
  /** How many messages the last claim has left that are due, if the topic is limited. */
  #due = 0;
  #isClaiming = false;
  /** Something may have become due while the claim was under way. */
  #again = false;
  #hasQuit = false;
  // What follows is of the claim under way.
  #slots = 0;
  #permits: Permits | undefined;
  #room: SuspectRoom | undefined;
  /** What its partition knew of before it was sent. */
  #knownHold: KnownHold | undefined;
  #brought = 0;

  constructor(parts: AdmissionParts, claims: Claims) {
    this.#parts = parts;
    this.#claims = claims;
    this.#size = new ClaimSize(parts.batch);
  }

  // ── between claims ────────────────────────────────────────────────────────────────────────────────────────────────

  /** From now on it may ask, and asks. */
  join(): void {
    this.#parts.slots.join(this);
    this.lookAgain();
  }

  /** Asks for nothing any more. */
  quit(): void {
    this.#hasQuit = true;
    this.#parts.slots.quit(this);
    this.#parts.limiter.forget(this);
    this.#parts.suspects.forget(this);
  }

  /** Something may be due, or to be had: asks for a turn, at once or when the claim under way is over. */
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
    // Nobody should ask for permits that it has no use for.
    if (limiter.isLimited) return Math.min(Math.ceil(this.#wantedPermits / batch), limiter.shareOf(slots.free));
    return this.#size.slots(slots.free);
  }

  get isAboutToAsk(): boolean {
    return this.#claims.mayClaim && this.#claims.isDue;
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
    this.#isClaiming = true;
    this.#again = false;
    this.#slots = slots;
    this.#brought = 0;
    this.#claims.claim();
  }

  // ── of the claim under way ────────────────────────────────────────────────────────────────────────────────────────

  /** Most messages that it may bring; a promise, which never rejects, if it needs permits. */
  most(): number | Promise<number> {
    return this.#parts.limiter.isLimited ? this.#permitted() : this.#slots * this.#parts.batch;
  }

  /** Gives back the slots for which there are no permits. Without a permit it is made when there may be some. */
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

  /** To be asked before it is sent: what it tells. */
  terms(): ClaimTerms {
    const { suspects, limiter, hold } = this.#parts;
    // If it was refused before, others may be first now.
    this.leaveRoom();
    this.#room = suspects.enter();
    this.#knownHold = hold.knownTo(this.#claims.partition);
    const { keyLimits, isLimited: counts } = limiter;
    return { keyLimits, counts, begin: this.#begins.claimWindow, ...this.#room };
  }

  /**
   * How many messages it may bring if it is sent at this time, on the local clock in epoch milliseconds. A repeat that has no slots any more, or
   * no permit that is still of use, asks for nothing new.
   */
  max(wanted: number, sentAt: number): number {
    const isInTime = this.#permits?.mayBegin(sentAt) ?? true;
    return isInTime ? Math.min(wanted, this.#slots * this.#parts.batch) : 0;
  }

  /** It was answered after so many milliseconds. */
  measured(duration: number): void {
    this.#begins.answered(duration);
  }

  /** When limits let begin what it has brought; `undefined`: whenever that is. */
  beginTimes(begins: Begins | undefined): BeginTimes[] | undefined {
    const granted = begins && new BeginTimes(this.#begins, begins);
    const times = [this.#permits?.begin, granted].filter((one) => one !== undefined);
    return times.length > 0 ? times : undefined;
  }

  /** It has brought messages, of which it has asked for so many at most: takes slots for those that it lost while it waited. */
  answered({ status, messages, due = 0 }: Claimed, max: number): void {
    const { hold, slots, batch } = this.#parts;
    if (status === 'claimed') hold.ended(this.#knownHold);
    this.#brought = messages.length;
    this.#due = due;
    this.#size.claimed(this.#brought, max);
    this.#slots += slots.takeNow(Math.max(0, Math.ceil(this.#brought / batch) - this.#slots));
  }

  /**
   * What it has brought uses so many of its slots.
   *
   * @param heldBack whether it has left suspects for which there was no room
   */
  used(slots: number, heldBack: boolean): void {
    this.#slots -= slots;
    if (heldBack && this.#room && !this.#hasQuit) this.#parts.suspects.await(this, this.#room);
    this.leaveRoom();
  }

  /** Lets others have the room for suspects. */
  leaveRoom(): void {
    if (this.#room) this.#parts.suspects.leave(this.#room);
  }

  /** Lets later topics pass meanwhile. */
  standBack(): void {
    this.#parts.slots.withdraw(this);
  }

  /** A partition that cannot be reached must not keep others waiting, which may be elsewhere. */
  loseSlots(): void {
    this.#release(this.#slots);
    this.standBack();
  }

  /** It is over, also if it has failed; what it has not used goes back. */
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

/** How many slots a partition should have for its next claim, by what the claims before have brought. */
class ClaimSize {
  readonly #batch: number;
  /** The last claim took all it asked for, so there is more. */
  #isBacklog = false;
  /** How many messages claims have brought in a row of which each left some. */
  #inRow = 0;
  /** How many that are in general, of those that bring any. */
  #usual = 0;

  /** @param batch messages for a slot */
  constructor(batch: number) {
    this.#batch = batch;
  }

  /** A claim of at most so many has brought so many. */
  claimed(count: number, max: number): void {
    this.#inRow = count + (this.#isBacklog ? this.#inRow : 0);
    this.#isBacklog = count > 0 && count >= max;
    if (count > 0) this.#usual = followed(this.#usual, Math.min(this.#inRow, MAX_BATCH));
  }

  /** @param free how many slots are */
  slots(free: number): number {
    if (this.#isBacklog) return Math.floor(MAX_BATCH / this.#batch);
    const usual = Math.min(Math.ceil(this.#usual / this.#batch), Math.floor(free / SHARE_OF_FREE));
    return Math.max(Math.ceil(FIRST_CLAIM / this.#batch), usual);
  }
}
