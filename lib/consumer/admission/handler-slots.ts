/** Wants slots of a handler. */
export interface Claimant {
  /** Place of its topic among those of its handler, 0 for the first; while an earlier one is hungry it gets nothing. */
  readonly priority: number;
  /** Most slots it can make use of now, one at least. */
  readonly wanted: number;
  /** Whether something of it is due by now, or as good as now, so that it will ask. */
  readonly isAboutToAsk?: boolean;
  /**
   * Takes `slots` slots; it has to {@link HandlerSlots.release} each of them once. Once it knows whether it needs more it
   * has to {@link HandlerSlots.request} again, or to {@link HandlerSlots.withdraw}.
   */
  grant(slots: number): void;
}

/**
 * Bounds how many handler calls run at once in this process. Slots are taken before messages are claimed, so that no
 * message waits in a process while its lease runs, and are handed out first come, first served.
 */
export class SlotPool {
  readonly limit: number;
  #used = 0;
  /** Calls that have to be made and have no slot yet. */
  #owed = 0;
  readonly #queue = new Map<Claimant, HandlerSlots>();
  #granting = false;
  readonly #idle: (() => void)[] = [];

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Slots taken. */
  get used(): number {
    return this.#used;
  }

  get free(): number {
    return this.limit - this.#used;
  }

  /** Resolves once no slot is taken, and none is owed. */
  async idle(): Promise<void> {
    if (this.#used + this.#owed > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** @param calls how many more have to be made whatever happens, and wait for a slot; below 0: they have one now, or are given up */
  owe(calls: number): void {
    this.#owed += calls;
    this.#tellIdle();
  }

  /** A claimant's slots are granted at once if some are free, else as soon as some are. */
  enter(claimant: Claimant, slots: HandlerSlots): void {
    this.#queue.set(claimant, slots);
    this.#grant();
  }

  /** The same, but in a later turn of the event loop. */
  enterSoon(claimants: Iterable<Claimant>, slots: HandlerSlots): void {
    for (const claimant of claimants) this.#queue.set(claimant, slots);
    this.#grantSoon();
  }

  leave(claimant: Claimant): void {
    this.#queue.delete(claimant);
  }

  has(claimant: Claimant): boolean {
    return this.#queue.has(claimant);
  }

  /** @param slots as many as are free, at most */
  take(slots: number): void {
    this.#used += slots;
  }

  /** Slots that come back in one turn of the event loop are granted together, which makes larger claims. */
  giveBack(slots: number): void {
    this.#used -= slots;
    this.#tellIdle();
    this.#grantSoon();
  }

  #tellIdle(): void {
    if (this.#used + this.#owed === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #grantSoon(): void {
    if (this.#granting || this.#queue.size === 0) return;
    this.#granting = true;
    setImmediate(() => {
      this.#granting = false;
      this.#grant();
    });
  }

  #grant(): void {
    for (const [claimant, slots] of this.#queue) {
      if (this.free === 0) return;
      this.#queue.delete(claimant);
      const granted = slots.take(claimant, this.free);
      if (granted === 0) continue;
      this.take(granted);
      claimant.grant(granted);
    }
  }
}

/**
 * The slots of one handler, at most `limit` of the pool's, shared by its topics: those of an earlier topic come before those
 * of a later one.
 */
export class HandlerSlots {
  readonly #pool: SlotPool;
  /** What of the limit one claim may have. */
  readonly #share: number;
  #limit: number;
  #used = 0;
  /** Waits until slots of this handler are free. */
  readonly #parked = new Set<Claimant>();
  /** Waits until no claimant of an earlier topic is hungry. */
  readonly #outranked = new Set<Claimant>();
  /** By priority: those that have asked for slots, until they have what they wanted. */
  readonly #hungry: Set<Claimant>[] = [];
  /** By priority: those that may ask. */
  readonly #members: Set<Claimant>[] = [];
  readonly #onIdle: (() => void)[] = [];

  /** @param share of the limit that one claim may have: by default half, so that while its messages are handled, the next is on its way */
  constructor(pool: SlotPool, limit: number, share = 1 / 2) {
    this.#pool = pool;
    this.#limit = limit;
    this.#share = share;
  }

  /** Slots taken. */
  get used(): number {
    return this.#used;
  }

  get free(): number {
    return Math.max(0, this.#limit - this.#used);
  }

  /** Most slots for one claim. */
  get #most(): number {
    return Math.ceil(Math.min(this.#limit, this.#pool.limit) * this.#share);
  }

  /** From now on there are so many. Those that are taken beyond that stay so until they are given back. */
  resize(limit: number): void {
    const isMore = limit > this.#limit;
    this.#limit = limit;
    if (isMore) this.#queueAgain(this.#parked);
  }

  /** Resolves once no slot is taken, and nobody asks for one or is about to. */
  async idle(): Promise<void> {
    if (!this.#isIdle) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  get #isIdle(): boolean {
    const isAskedFor = this.#hungry.some(({ size }) => size > 0);
    return this.#used === 0 && !isAskedFor && !this.#members.some((members) => [...members].some(isAboutToAsk));
  }

  #tellIdle(): void {
    if (this.#onIdle.length > 0 && this.#isIdle) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** Whether a claimant has asked for slots, and has got none yet. */
  keepsWaiting(claimant: Claimant): boolean {
    return this.#pool.has(claimant) || this.#parked.has(claimant) || this.#outranked.has(claimant);
  }

  /** From now on a claimant may ask. */
  join(claimant: Claimant): void {
    setOf(this.#members, claimant).add(claimant);
  }

  /** A claimant does not ask any more. */
  quit(claimant: Claimant): void {
    this.#members[claimant.priority]?.delete(claimant);
    this.withdraw(claimant);
  }

  /** Asks for slots. */
  request(claimant: Claimant): void {
    this.#parked.delete(claimant);
    this.#outranked.delete(claimant);
    setOf(this.#hungry, claimant).add(claimant);
    // Of what is due in the same millisecond, the timer of a later topic may be the first.
    for (let earlier = 0; earlier < claimant.priority; earlier++) {
      for (const other of this.#members[earlier] ?? []) if (other.isAboutToAsk) setOf(this.#hungry, other).add(other);
    }
    this.#pool.enter(claimant, this);
  }

  /** Ends a request: it is taken back, or was met. Until then it holds the later topics of its handler back. */
  withdraw(claimant: Claimant): void {
    this.#pool.leave(claimant);
    this.#parked.delete(claimant);
    this.#outranked.delete(claimant);
    this.#hungry[claimant.priority]?.delete(claimant);
    this.#queueAgain(this.#outranked);
    this.#tellIdle();
  }

  /**
   * Takes slots that are free now, whoever waits for some: for what comes after its slots were given back.
   *
   * @returns how many, at most `wanted`
   */
  takeNow(wanted: number): number {
    const slots = Math.min(wanted, this.free, this.#pool.free);
    this.#used += slots;
    this.#pool.take(slots);
    return slots;
  }

  /** See {@link SlotPool.owe}. */
  owe(calls: number): void {
    this.#pool.owe(calls);
  }

  /** Gives slots back. */
  release(slots: number): void {
    this.#used -= slots;
    this.#queueAgain(this.#parked);
    this.#pool.giveBack(slots);
    this.#tellIdle();
  }

  /**
   * For the pool, when it is a claimant's turn: takes slots for it, or has it wait for what stands in its way.
   *
   * @param free slots of the pool
   * @returns how many it gets
   */
  take(claimant: Claimant, free: number): number {
    if (this.#outranks(claimant)) {
      this.#outranked.add(claimant);
      return 0;
    }
    const slots = Math.min(free, this.free, this.#most, claimant.wanted);
    if (slots === 0) this.#parked.add(claimant);
    this.#used += slots;
    return slots;
  }

  /** Whether a claimant of an earlier topic is hungry. */
  #outranks({ priority }: Claimant): boolean {
    for (let earlier = 0; earlier < priority; earlier++) {
      if ((this.#hungry[earlier]?.size ?? 0) > 0) return true;
    }
    return false;
  }

  #queueAgain(waiting: Set<Claimant>): void {
    if (waiting.size === 0) return;
    this.#pool.enterSoon(waiting, this);
    waiting.clear();
  }
}

/** The place of a topic among those of its handler. */
export interface HandlerPlace {
  readonly slots: HandlerSlots;
  /** 0 for the first. */
  readonly priority: number;
  /** Most messages for a slot. */
  readonly batch: number;
}

function isAboutToAsk(claimant: Claimant): boolean {
  return claimant.isAboutToAsk === true;
}

function setOf(sets: Set<Claimant>[], { priority }: Claimant): Set<Claimant> {
  return (sets[priority] ??= new Set());
}
