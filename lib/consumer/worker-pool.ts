import type { Claimant, WorkerGroup } from './worker-group.js';

/**
 * Bounds how many handlers run at once in this process. Slots are taken before messages are claimed, so that no message
 * waits in a process while its lease runs, and are handed out first come, first served; within a group, those of an earlier
 * topic come before those of a later one.
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

  /** Whether a claimant has asked for slots, and has got none yet. */
  keepsWaiting(claimant: Claimant): boolean {
    const { parked, outranked } = claimant.group;
    return this.#queue.has(claimant) || parked.has(claimant) || outranked.has(claimant);
  }

  /** Asks for slots: granted at once where some are free, else as soon as some are. */
  request(claimant: Claimant): void {
    claimant.group.hunger(claimant);
    this.#queue.add(claimant);
    this.#grant();
  }

  /** Ends a request: it is taken back, or was met. Until then it holds the later topics of its handler back. */
  withdraw(claimant: Claimant): void {
    const { group } = claimant;
    this.#queue.delete(claimant);
    group.sate(claimant);
    this.#requeue(group.outranked);
  }

  /** Gives slots back. Those that come back in one turn of the event loop are granted together: larger claims. */
  release(group: WorkerGroup, slots: number): void {
    this.#used -= slots;
    group.used -= slots;
    if (this.#used === 0) for (const resolve of this.#idle.splice(0)) resolve();
    this.#requeue(group.parked);
    this.#grantSoon();
  }

  /** Resolves once no slot is taken. */
  async idle(): Promise<void> {
    if (this.#used > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #requeue(waiting: Set<Claimant>): void {
    if (waiting.size === 0) return;
    for (const claimant of waiting) this.#queue.add(claimant);
    waiting.clear();
    this.#grantSoon();
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
    for (const claimant of this.#queue) {
      const free = this.#limit - this.#used;
      if (free === 0) return;
      this.#queue.delete(claimant);
      const { group } = claimant;
      if (group.outranks(claimant)) {
        group.outranked.add(claimant);
        continue;
      }
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
