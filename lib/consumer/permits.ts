/** What lasts as long as its process renews it. */
export interface Term {
  /** Epoch milliseconds on the local clock. */
  readonly endsAt: number;
}

/** Told of what becomes of permits. */
export interface PermitOwner {
  /** So many permits of a rate have led to no handler call. */
  unused(permittedAt: number, count: number): void;
  /** So many permits to be in flight are in use no more. */
  ended(count: number): void;
}

/** Deliveries of a limited topic that may begin, as a claim has got them. */
export class Permits {
  readonly count: number;
  /** Until when handlers may be called, on the local clock in epoch milliseconds. */
  readonly beginBy: number;
  readonly #owner: PermitOwner;
  readonly #permittedAt: number;
  readonly #term: Term | undefined;

  /** @param term of what is in flight; `undefined` if that is not limited */
  constructor(
    owner: PermitOwner,
    terms: { count: number; permittedAt: number; beginBy: number; term: Term | undefined },
  ) {
    this.#owner = owner;
    this.count = terms.count;
    this.beginBy = terms.beginBy;
    this.#permittedAt = terms.permittedAt;
    this.#term = terms.term;
  }

  /** Until when deliveries may be in flight, unless that is renewed; epoch milliseconds on the local clock. */
  get endsAt(): number {
    return this.#term?.endsAt ?? Infinity;
  }

  /** To be called once it is known how many deliveries the claim has brought. */
  claimed(deliveries: number): void {
    const left = this.count - deliveries;
    if (left <= 0) return;
    this.#owner.unused(this.#permittedAt, left);
    if (this.#term) this.#owner.ended(left);
  }

  /** A delivery is over without a call of its handler. */
  notCalled(): void {
    this.#owner.unused(this.#permittedAt, 1);
  }

  /** A delivery is in flight no more. */
  ended(): void {
    if (this.#term) this.#owner.ended(1);
  }
}
