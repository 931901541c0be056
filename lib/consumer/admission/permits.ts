import type { BeginTimes } from './begin-estimate.js';

/** Time for which a process keeps unused in-flight permits if no other process wants them, in milliseconds. */
const LINGER = 1000;

/**
 * In-flight permits of a process, from the first one it gets. They last as long as it renews them, all together. Once ended, they stay
 * ended, whatever answer comes later: others may have them by then, and later permits belong to another term.
 */
export class FlightTerm {
  /** End of the term, in epoch milliseconds on the local clock. */
  endsAt = Infinity;
  /** Number of permits, and how many of them are in use. */
  held = 0;
  used = 0;
  /** Number of permits that can be kept while other processes have too few. */
  keep = Infinity;
  /** Time since which some are unused, in epoch milliseconds on the local clock. */
  #idleSince: number | undefined;

  /** Number of unused permits. */
  get idle(): number {
    return Math.max(0, this.held - this.used);
  }

  /** Number of unused permits that can be used without a call. */
  get usable(): number {
    return Math.max(0, Math.min(this.idle, this.keep - this.used));
  }

  /**
   * Returns how many to keep while no other process asks for them: for a while, this includes unused ones.
   *
   * @param now epoch milliseconds on the local clock
   */
  keptUnasked(now: number): number {
    const isKept = this.keep === Infinity && now < this.lingersUntil(now);
    return this.used + (isKept ? this.idle : 0);
  }

  /** Returns until when unused permits are kept at most, in epoch milliseconds on the local clock; `Infinity` if all are used. */
  lingersUntil(now: number): number {
    if (this.idle === 0) this.#idleSince = undefined;
    else this.#idleSince ??= now;
    return this.#idleSince === undefined ? Infinity : this.#idleSince + LINGER;
  }
}

/** Listener for the fate of permits. */
export interface PermitOwner {
  /** Called when `count` permits of a rate have led to no handler call. */
  unused(permittedAt: number, count: number): void;
  /** Called when `count` in-flight permits of a term are no longer in use. */
  ended(term: FlightTerm, count: number): void;
}

/** Permits that a claim has for deliveries of a limited topic. */
export class Permits {
  readonly count: number;
  /** Times at which handlers can be called, in epoch milliseconds on the local clock; `undefined` if at any time. */
  readonly begin: BeginTimes | undefined;
  readonly #owner: PermitOwner;
  readonly #permittedAt: number;
  readonly #term: FlightTerm | undefined;

  /** @param term `undefined` if deliveries in flight are not limited */
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

  /** Time until which deliveries can be in flight unless it is renewed, in epoch milliseconds on the local clock. */
  get endsAt(): number {
    return this.#term?.endsAt ?? Infinity;
  }

  /** Whether deliveries can be in flight only as long as their process renews the permits. */
  get isRenewed(): boolean {
    return this.#term !== undefined;
  }

  /** Whether the permits let nothing begin any more at `now`, in epoch milliseconds on the local clock. */
  isOver(now: number): boolean {
    return now >= this.endsAt || (this.begin !== undefined && now > this.begin.until);
  }

  /**
   * Whether it is not too late at `now`, in epoch milliseconds on the local clock. If it is, the request allowed too little time: that
   * counts as a measurement, since no other would follow.
   */
  mayBegin(now: number): boolean {
    if (!this.isOver(now)) return true;
    this.begin?.ready(now);
    return false;
  }

  /** Call this once it is known how many deliveries the claim has brought. */
  claimed(deliveries: number): void {
    const left = this.count - deliveries;
    if (left <= 0) return;
    this.#owner.unused(this.#permittedAt, left);
    if (this.#term) this.#owner.ended(this.#term, left);
  }

  /** Records that a delivery ended without a call of its handler. */
  notCalled(): void {
    this.#owner.unused(this.#permittedAt, 1);
  }

  /** Records that a delivery is no longer in flight. */
  ended(): void {
    if (this.#term) this.#owner.ended(this.#term, 1);
  }
}

/** A delivery as limits and quotas see it. */
export interface Admitted {
  /** Share of the room for suspects that it takes. */
  readonly weight: number;
  /** Time when it was handed over, in epoch milliseconds on the local clock; `undefined` if it was not. */
  readonly startedAt: number | undefined;
  /** Last moment at which limits let its handler be called, and the time until which it surely belongs to this process; same unit. */
  readonly mustBeginBy: number;
  readonly endsAt: number;
  readonly aborted: boolean;
  /** Permits that it was claimed with, if its topic is limited. */
  permits: Permits | undefined;
  /** Times at which limits let its handler be called; `undefined` if at any time. */
  begin: readonly BeginTimes[] | undefined;
}

/** A claimant for permits, which is woken to ask again. */
export interface LimitedClaimant {
  lookAgain(): void;
}

export interface Ask {
  readonly claimant: LimitedClaimant;
  readonly wanted: number;
  readonly answer: (permits: Permits) => void;
}

/** Distributes permits among the asks, one at a time in turn. */
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
