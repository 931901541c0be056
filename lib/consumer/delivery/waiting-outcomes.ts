import { addsMemory } from '../../store/deliveries/settle.js';
import type { Delivery } from './delivery.js';
import type { Verdict } from './verdict.js';

/** A delivery, and what is to become of it. */
export interface DecidedDelivery {
  readonly delivery: Delivery;
  readonly verdict: Verdict;
  /** Names the settle, if it may be made again. */
  readonly operation?: string | undefined;
}

/** Tells those that a full broker refuses from those that make room. */
export function splitByRoom(decided: readonly DecidedDelivery[]) {
  return {
    adding: decided.filter(({ verdict }) => addsMemory(verdict)),
    others: decided.filter(({ verdict }) => !addsMemory(verdict)),
  };
}

/** How many make a crowd. */
const CROWD = 100;

/** How long the envelopes of fewer are that make one, in characters; about as much as one claim brings. */
const CROWD_LENGTH = 1_048_576;

/** How many are tried at once: a large call would overdraw the last bit of room. */
const FEW = 16;

/** How long they are left before the next try, in milliseconds. */
const PAUSE = 500;

/** The outcomes of one partition for which the broker has no room. */
export class WaitingOutcomes {
  #outcomes: DecidedDelivery[] = [];
  #isCrowd = false;
  #tryAt = 0;

  get size(): number {
    return this.#outcomes.length;
  }

  get deliveries(): Delivery[] {
    return this.#outcomes.map(({ delivery }) => delivery);
  }

  /** Whether they are so many that no more should be claimed. Once they are, that stays until none is left. */
  get isCrowd(): boolean {
    return this.#isCrowd;
  }

  add(outcomes: readonly DecidedDelivery[]): void {
    this.#outcomes.push(...outcomes);
    if (this.#isCrowd || this.#outcomes.length === 0) return;
    const length = this.#outcomes.reduce((sum, { delivery }) => sum + delivery.envelope.length, 0);
    this.#isCrowd = this.#outcomes.length >= CROWD || length >= CROWD_LENGTH;
  }

  /**
   * To be called with those that were tried in vain.
   *
   * @param now local clock, epoch milliseconds
   */
  putBack(outcomes: readonly DecidedDelivery[], now: number): void {
    this.#tryAt = now + PAUSE;
    this.add(outcomes);
  }

  /** Takes some that are to be tried now; none before the pause is over. */
  take(now: number): DecidedDelivery[] {
    return now < this.#tryAt ? [] : this.#outcomes.splice(0, FEW);
  }

  /** In how many milliseconds to try again; `undefined` if none waits. */
  pauseFrom(now: number): number | undefined {
    return this.#outcomes.length === 0 ? undefined : Math.max(0, this.#tryAt - now);
  }

  /** To be called once none is left. */
  disperse(): void {
    this.#isCrowd = false;
  }
}
