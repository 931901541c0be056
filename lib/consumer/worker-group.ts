/** Wants slots of a {@link WorkerPool}. */
export interface Claimant {
  /** Shares its limit with the other claimants of its handler. */
  readonly group: WorkerGroup;
  /** Place of its topic among those of its handler, 0 for the first; while an earlier one is hungry it gets nothing. */
  readonly priority: number;
  /** Most slots it can make use of now, one at least. */
  readonly wanted: number;
  /**
   * Takes `slots` slots; it has to {@link WorkerPool.release} each of them once. Once it knows whether it needs more it has
   * to {@link WorkerPool.request} again, or to {@link WorkerPool.withdraw}.
   */
  grant(slots: number): void;
}

/** The slots of one handler, at most `limit` of the pool's, and who of its claimants has to wait for what. */
export class WorkerGroup {
  /** Slots taken. */
  used = 0;
  /** Waits until slots of this group are free. */
  readonly parked = new Set<Claimant>();
  /** Waits until no claimant of an earlier topic is hungry. */
  readonly outranked = new Set<Claimant>();
  /** By priority: those that have asked for slots, until they have what they wanted. */
  readonly #hungry: Set<Claimant>[] = [];

  constructor(readonly limit: number) {}

  get free(): number {
    return this.limit - this.used;
  }

  /** Notes that a claimant wants slots. */
  hunger(claimant: Claimant): void {
    this.parked.delete(claimant);
    this.outranked.delete(claimant);
    (this.#hungry[claimant.priority] ??= new Set()).add(claimant);
  }

  /** Notes that a claimant wants nothing any more. */
  sate(claimant: Claimant): void {
    this.parked.delete(claimant);
    this.outranked.delete(claimant);
    this.#hungry[claimant.priority]?.delete(claimant);
  }

  /** Whether a claimant of an earlier topic is hungry. */
  outranks({ priority }: Claimant): boolean {
    for (let earlier = 0; earlier < priority; earlier++) {
      if ((this.#hungry[earlier]?.size ?? 0) > 0) return true;
    }
    return false;
  }
}
