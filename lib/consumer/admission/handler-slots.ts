/** A claimant for slots of a handler. */
export interface Claimant {
  /** Place of its topic among those of its handler, 0 for the first; while an earlier one is hungry it gets nothing. */
  readonly priority: number;
  /** Most slots that it can use now, at least one. */
  readonly wanted: number;
  /** Whether something of it is due now, or within a moment, so that it will ask. */
  readonly isAboutToAsk?: boolean;
  /** Whether it should get slots before those that have waited longer. */
  readonly goesAhead?: boolean;
  /**
   * Takes `slots` slots; it has to {@link HandlerSlots.release} each of them once. Once it knows whether it needs more, it has to
   * {@link HandlerSlots.request} again or {@link HandlerSlots.withdraw}.
   */
  grant(slots: number): void;
}

/**
 * Bounds how many handler calls run at once in this process. Slots are granted first come, first served, and before messages are claimed,
 * so that no message waits in a process while its lease runs.
 */
export class SlotPool {
  readonly limit: number;
  #used = 0;
  /** Calls that must still be made and have no slot yet. */
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

  /** @param calls number of further calls that must be made and wait for a slot; below 0: calls that now have one, or are given up */
  owe(calls: number): void {
    this.#owed += calls;
    this.#tellIdle();
  }

  /** Queues a claimant: it gets slots at once if some are free, else as soon as some are. */
  enter(claimant: Claimant, slots: HandlerSlots): void {
    this.#queue.set(claimant, slots);
    this.#grant();
  }

  /** Does the same in a later turn of the event loop. */
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

  /** @param slots at most the number of free slots */
  take(slots: number): void {
    this.#used += slots;
  }

  /** Takes slots back. Those that come back in one turn of the event loop are granted together, which makes larger claims. */
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

  /** Grants slots in the order in which they were asked for, but first to those that go ahead. */
  #grant(): void {
    if (this.#queue.size > 1) this.#grantIf((claimant) => claimant.goesAhead === true);
    this.#grantIf(() => true);
  }

  #grantIf(isInTurn: (claimant: Claimant) => boolean): void {
    for (const [claimant, slots] of this.#queue) {
      if (this.free === 0) return;
      if (!isInTurn(claimant)) continue;
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
  /** Share of the limit that one claim can have. */
  readonly #share: number;
  #limit: number;
  #used = 0;
  /** Claimants that wait until slots of this handler are free. */
  readonly #parked = new Set<Claimant>();
  /** Claimants that wait until no claimant of an earlier topic is hungry. */
  readonly #outranked = new Set<Claimant>();
  /** Claimants by priority that have asked for slots, until they have what they wanted. */
  readonly #hungry: Set<Claimant>[] = [];
  /** Claimants by priority that can ask. */
  readonly #members: Set<Claimant>[] = [];
  readonly #onIdle: (() => void)[] = [];

  /**
   * @param share of the limit that one claim can have: by default half, so that the next claim is under way while its messages are handled
   */
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

  /** Changes the number of slots. Slots taken beyond it stay taken until they are given back. */
  resize(limit: number): void {
    const isMore = limit > this.#limit;
    this.#limit = limit;
    if (isMore) this.#queueAgain(this.#parked);
  }

  /** Resolves once no slot is taken, and no claimant asks for one or is about to. */
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

  /** Whether a claimant has asked for slots and has none yet. */
  keepsWaiting(claimant: Claimant): boolean {
    return this.#pool.has(claimant) || this.#parked.has(claimant) || this.#outranked.has(claimant);
  }

  /** Lets a claimant ask from now on. */
  join(claimant: Claimant): void {
    setOf(this.#members, claimant).add(claimant);
  }

  /** Removes a claimant that no longer asks. */
  quit(claimant: Claimant): void {
    this.#members[claimant.priority]?.delete(claimant);
    this.withdraw(claimant);
  }

  /** Asks for slots. */
  request(claimant: Claimant): void {
    this.#parked.delete(claimant);
    this.#outranked.delete(claimant);
    setOf(this.#hungry, claimant).add(claimant);
    // For messages due in the same millisecond, the timer of a later topic may fire first.
    for (let earlier = 0; earlier < claimant.priority; earlier++) {
      for (const other of this.#members[earlier] ?? []) if (other.isAboutToAsk) setOf(this.#hungry, other).add(other);
    }
    this.#pool.enter(claimant, this);
  }

  /** Ends a request that was met or is withdrawn. Until then it holds back the later topics of its handler. */
  withdraw(claimant: Claimant): void {
    this.#pool.leave(claimant);
    this.#parked.delete(claimant);
    this.#outranked.delete(claimant);
    this.#hungry[claimant.priority]?.delete(claimant);
    this.#queueAgain(this.#outranked);
    this.#tellIdle();
  }

  /**
   * Takes slots that are free now, ahead of all waiting claimants: for messages that arrive after their slots were given back.
   *
   * @returns number of slots taken, at most `wanted`
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
   * Takes slots for a claimant whose turn it is in the pool, or makes it wait for what stands in its way.
   *
   * @param free slots of the pool
   * @returns number of slots granted
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
  /** Most messages per slot. */
  readonly batch: number;
}

function isAboutToAsk(claimant: Claimant): boolean {
  return claimant.isAboutToAsk === true;
}

function setOf(sets: Set<Claimant>[], { priority }: Claimant): Set<Claimant> {
  return (sets[priority] ??= new Set());
}
