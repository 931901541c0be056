/** Wants slots of a {@link WorkerPool}. */
export interface Claimant {
  /** Shares its limit with the other claimants of its handler. */
  readonly group: WorkerGroup;
  /** Most slots it can make use of now. */
  readonly wanted: number;
  /** Takes `slots` slots; it has to {@link WorkerPool.release} each of them once. */
  grant(slots: number): void;
}

/** The slots of one handler: at most `limit` of the pool's. */
export class WorkerGroup {
  /** Slots taken. */
  used = 0;
  /** Waits until slots of this group are free. */
  readonly parked = new Set<Claimant>();

  constructor(readonly limit: number) {}

  get free(): number {
    return this.limit - this.used;
  }
}

/**
 * Bounds how many handlers run at once in this process. Slots are taken before messages are claimed, so that no message
 * waits in a process while its lease runs, and are handed out first come, first served.
 */
export class WorkerPool {
  readonly #limit: number;
  #used = 0;
  readonly #queue = new Set<Claimant>();
  #granting = false;
  readonly #idle: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Slots taken. */
  get used(): number {
    return this.#used;
  }

  /** Asks for slots: granted at once where some are free, else as soon as some are. */
  request(claimant: Claimant): void {
    claimant.group.parked.delete(claimant);
    this.#queue.add(claimant);
    this.#grant();
  }

  /** Takes a request back. */
  withdraw(claimant: Claimant): void {
    this.#queue.delete(claimant);
    claimant.group.parked.delete(claimant);
  }

  /** Gives slots back. Those that come back in one turn of the event loop are granted together: larger claims. */
  release(group: WorkerGroup, slots: number): void {
    this.#used -= slots;
    group.used -= slots;
    if (this.#used === 0) for (const resolve of this.#idle.splice(0)) resolve();
    for (const claimant of group.parked) this.#queue.add(claimant);
    group.parked.clear();
    if (this.#granting || this.#queue.size === 0) return;
    this.#granting = true;
    setImmediate(() => {
      this.#granting = false;
      this.#grant();
    });
  }

  /** Resolves once no slot is taken. */
  async idle(): Promise<void> {
    if (this.#used > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #grant(): void {
    for (const claimant of this.#queue) {
      const free = this.#limit - this.#used;
      if (free === 0) return;
      this.#queue.delete(claimant);
      const { group } = claimant;
      const slots = Math.min(free, group.free, claimant.wanted);
      if (slots === 0) {
        group.parked.add(claimant);
        continue;
      }
      this.#used += slots;
      group.used += slots;
      claimant.grant(slots);
    }
  }
}
