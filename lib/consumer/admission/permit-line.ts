import type { Timer } from '../../time/clock.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { LimitedClaimant } from './permits.js';

/**
 * Queue of those that wait for permits of a topic, until they are woken to ask again. Emits an event when messages begin to wait, and when
 * none waits any more.
 */
export class PermitLine {
  readonly #context: ConsumerContext;
  readonly #topic: string;
  readonly #waiting = new Set<LimitedClaimant>();
  /** Number of claimants that were woken and have not asked yet. */
  #told = 0;
  /** Time before which there are no permits, in epoch milliseconds on the local clock. */
  #opensAt = -Infinity;
  #opening: Timer | undefined;
  #limitedSince: number | undefined;
  #isClosed = false;

  constructor(context: ConsumerContext, topic: string) {
    this.#context = context;
    this.#topic = topic;
  }

  /** Time since which messages wait, in epoch milliseconds on the local clock; `undefined` if none do. */
  get limitedSince(): number | undefined {
    return this.#limitedSince;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  get isOpen(): boolean {
    return this.#context.clock.now() >= this.#opensAt;
  }

  has(claimant: LimitedClaimant): boolean {
    return this.#waiting.has(claimant);
  }

  /** Returns the share of `free` for each claimant that was woken together with others, so that all can ask side by side. */
  shareOf(free: number): number {
    return Math.max(1, Math.ceil(free / Math.max(1, this.#told)));
  }

  came(claimant: LimitedClaimant): void {
    this.#waiting.delete(claimant);
    this.#told = Math.max(0, this.#told - 1);
  }

  /** Lets a claimant wait until there is an answer, or the line opens. */
  add(claimant: LimitedClaimant): void {
    this.#waiting.add(claimant);
  }

  /** Lets a claimant that got nothing wait until the line opens. */
  wait(claimant: LimitedClaimant): void {
    if (this.#isClosed) return;
    this.#waiting.add(claimant);
    this.openInTime();
  }

  /** Removes a claimant that wants nothing any more. */
  forget(claimant: LimitedClaimant): void {
    this.#waiting.delete(claimant);
    if (this.#waiting.size === 0) this.ends();
  }

  /** Closes the line until a time at which there may be permits again, in epoch milliseconds on the local clock. */
  closeUntil(opensAt: number): void {
    this.#opensAt = opensAt;
  }

  /** Opens the line at that time. */
  openInTime(): void {
    const { clock } = this.#context;
    if (this.#isClosed) return;
    this.#opening ??= clock.setTimer(Math.max(0, this.#opensAt - clock.now()), () => this.open());
  }

  /** Opens the line now, since there may be permits. */
  open(): void {
    this.#opensAt = -Infinity;
    this.wake();
  }

  /** Wakes all waiting claimants to ask again. */
  wake(): void {
    this.#opening?.cancel();
    this.#opening = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#told = waiting.length;
    for (const claimant of waiting) claimant.lookAgain();
    this.#told = 0;
  }

  /** Closes the line for good, and wakes all waiting claimants. */
  close(): void {
    this.#isClosed = true;
    this.wake();
    this.ends();
  }

  begins(): void {
    if (this.#limitedSince !== undefined) return;
    this.#limitedSince = this.#context.clock.now();
    this.#tell(true);
  }

  ends(): void {
    if (this.#limitedSince === undefined) return;
    this.#limitedSince = undefined;
    this.#tell(false);
  }

  #tell(limited: boolean): void {
    const { events } = this.#context;
    if (events.wants('limited')) events.emit('limited', { topic: this.#topic, limited });
  }
}
