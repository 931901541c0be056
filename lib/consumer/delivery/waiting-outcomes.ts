import { addsMemory } from '../../store/deliveries/settle.js';
import type { DecidedDelivery } from './decided-delivery.js';
import type { Delivery } from './delivery.js';

/** Separates outcomes that a full broker refuses from those that make room. */
export function splitByRoom(decided: readonly DecidedDelivery[]) {
  return {
    adding: decided.filter(({ verdict }) => addsMemory(verdict)),
    others: decided.filter(({ verdict }) => !addsMemory(verdict)),
  };
}

/** Number of outcomes that make a crowd. */
const CROWD = 100;

/** Total length of the envelopes at which fewer make a crowd, in characters; about as much as one claim brings. */
const CROWD_LENGTH = 1_048_576;

/** Most outcomes that are tried at once: a large call would overdraw the last bit of room. */
const FEW = 16;

/** Pause before the next try, in milliseconds. */
const PAUSE = 500;

/** Outcomes of one partition for which the broker has no room. */
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

  /** Whether there are too many to claim more. Once true, it stays true until none is left. */
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
   * Puts back outcomes that were tried in vain.
   *
   * @param now epoch milliseconds on the local clock
   */
  putBack(outcomes: readonly DecidedDelivery[], now: number): void {
    this.#tryAt = now + PAUSE;
    this.add(outcomes);
  }

  /** Takes some outcomes to try now; none before the pause is over. */
  take(now: number): DecidedDelivery[] {
    return now < this.#tryAt ? [] : this.#outcomes.splice(0, FEW);
  }

  /** Returns the time until the next try, in milliseconds; `undefined` if none waits. */
  pauseFrom(now: number): number | undefined {
    return this.#outcomes.length === 0 ? undefined : Math.max(0, this.#tryAt - now);
  }

  /** Ends the crowd; call this once none is left. */
  disperse(): void {
    this.#isCrowd = false;
  }
}
