import type { BeginTimes } from './begin-estimate.js';

/** For how long a process keeps permits to be in flight that nothing uses, if nobody else wants them; in milliseconds. */
const LINGER = 1000;

/**
 * The permits to be in flight that a process has, from when it gets the first ones. They last as long as it renews them, all together. Once they
 * have ended they stay so, whatever is answered later: others may have them by then, and what is permitted after that is of another term.
 */
export class FlightTerm {
  /** Epoch milliseconds on the local clock. */
  endsAt = Infinity;
  /** How many permits there are, and how many of them are in use. */
  held = 0;
  used = 0;
  /** How many of them may be kept while other processes have too few. */
  keep = Infinity;
  /** Since when some are not used; epoch milliseconds on the local clock. */
  #idleSince: number | undefined;

  /** How many of them nothing uses. */
  get idle(): number {
    return Math.max(0, this.held - this.used);
  }

  /** How many of those may be used without asking. */
  get usable(): number {
    return Math.max(0, Math.min(this.idle, this.keep - this.used));
  }

  /**
   * How many to keep while nobody else asks for them: for a while also those that nothing uses.
   *
   * @param now on the local clock, epoch milliseconds
   */
  keptUnasked(now: number): number {
    const isKept = this.keep === Infinity && now < this.lingersUntil(now);
    return this.used + (isKept ? this.idle : 0);
  }

  /** Until when those that nothing uses are kept at most, `Infinity` if all are used; epoch milliseconds on the local clock. */
  lingersUntil(now: number): number {
    if (this.idle === 0) this.#idleSince = undefined;
    else this.#idleSince ??= now;
    return this.#idleSince === undefined ? Infinity : this.#idleSince + LINGER;
  }
}

/** Told of what becomes of permits. */
export interface PermitOwner {
  /** So many permits of a rate have led to no handler call. */
  unused(permittedAt: number, count: number): void;
  /** So many permits to be in flight of a term are in use no more. */
  ended(term: FlightTerm, count: number): void;
}

/** Deliveries of a limited topic that may begin, as a claim has got them. */
export class Permits {
  readonly count: number;
  /** When handlers may be called, on the local clock in epoch milliseconds; `undefined`: whenever it is. */
  readonly begin: BeginTimes | undefined;
  readonly #owner: PermitOwner;
  readonly #permittedAt: number;
  readonly #term: FlightTerm | undefined;

  /** @param term of what is in flight; `undefined` if that is not limited */
  constructor(
    owner: PermitOwner,
    terms: { count: number; permittedAt: number; begin: BeginTimes | undefined; term: FlightTerm | undefined },
  ) {
    this.#owner = owner;
    this.count = terms.count;
    this.begin = terms.begin;
    this.#permittedAt = terms.permittedAt;
    this.#term = terms.term;
  }

  /** Until when deliveries may be in flight, unless that is renewed; epoch milliseconds on the local clock. */
  get endsAt(): number {
    return this.#term?.endsAt ?? Infinity;
  }

  /** Whether deliveries may be in flight only as long as their process renews that. */
  get isRenewed(): boolean {
    return this.#term !== undefined;
  }

  /** Whether nothing may begin by them any more at this time, on the local clock in epoch milliseconds. */
  isOver(now: number): boolean {
    return now >= this.endsAt || (this.begin !== undefined && now > this.begin.until);
  }

  /**
   * Whether it is not too late at this time, on the local clock in epoch milliseconds. If it is, what was asked for was too early: that counts as
   * measured, since nothing else would come of it.
   */
  mayBegin(now: number): boolean {
    if (!this.isOver(now)) return true;
    this.begin?.ready(now);
    return false;
  }

  /** To be called once it is known how many deliveries the claim has brought. */
  claimed(deliveries: number): void {
    const left = this.count - deliveries;
    if (left <= 0) return;
    this.#owner.unused(this.#permittedAt, left);
    if (this.#term) this.#owner.ended(this.#term, left);
  }

  /** A delivery is over without a call of its handler. */
  notCalled(): void {
    this.#owner.unused(this.#permittedAt, 1);
  }

  /** A delivery is in flight no more. */
  ended(): void {
    if (this.#term) this.#owner.ended(this.#term, 1);
  }
}

/** What limits and quotas know of a delivery. */
export interface Admitted {
  /** How much of the room for suspects it takes. */
  readonly weight: number;
  /** When it was handed over, on the local clock in epoch milliseconds; `undefined` if it was not. */
  readonly startedAt: number | undefined;
  /** The last moment at which limits let its handler be called, and until when it surely belongs to this process; as that. */
  readonly mustBeginBy: number;
  readonly endsAt: number;
  readonly aborted: boolean;
  /** What it was claimed with, if its topic is limited. */
  permits: Permits | undefined;
  /** When limits let its handler be called; `undefined`: whenever it is. */
  begin: readonly BeginTimes[] | undefined;
}

/** Who asks for permits, and is told when to ask again. */
export interface LimitedClaimant {
  lookAgain(): void;
}

export interface Ask {
  readonly claimant: LimitedClaimant;
  readonly wanted: number;
  readonly answer: (permits: Permits) => void;
}

/** Shares permits out among those who ask, one by one in turn. */
export function shareOut(permits: number, asks: readonly Ask[]): number[] {
  const shares = asks.map(() => 0);
  for (let left = permits; left > 0;) {
    const before = left;
    for (let i = 0; i < asks.length && left > 0; i++) {
      const { wanted } = asks[i] as Ask;
      if ((shares[i] as number) >= wanted) continue;
      shares[i] = (shares[i] as number) + 1;
      left--;
    }
    if (left === before) break;
  }
  return shares;
}
