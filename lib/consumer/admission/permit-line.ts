import type { Timer } from '../../time/clock.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { LimitedClaimant } from './permits.js';

/** Those who wait for permits of a topic, until they are told to ask again. It tells each time that messages begin to wait, and end. */
export class PermitLine {
  readonly #context: ConsumerContext;
  readonly #topic: string;
  readonly #waiting = new Set<LimitedClaimant>();
  /** How many were told to ask again, and have not asked yet. */
  #told = 0;
  /** Before then there is nothing to be had; epoch milliseconds on the local clock. */
  #opensAt = -Infinity;
  #opening: Timer | undefined;
  #limitedSince: number | undefined;
  #isClosed = false;

  constructor(context: ConsumerContext, topic: string) {
    this.#context = context;
    this.#topic = topic;
  }

  /** Since when messages wait; epoch milliseconds on the local clock, `undefined` if none do. */
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

  /** A share of so many for each of those that were told together, so that they can ask beside each other. */
  shareOf(free: number): number {
    return Math.max(1, Math.ceil(free / Math.max(1, this.#told)));
  }

  /** Somebody asks. */
  came(claimant: LimitedClaimant): void {
    this.#waiting.delete(claimant);
    this.#told = Math.max(0, this.#told - 1);
  }

  /** Somebody waits until there is an answer, or the line opens. */
  add(claimant: LimitedClaimant): void {
    this.#waiting.add(claimant);
  }

  /** Somebody has got nothing, and waits until the line opens. */
  wait(claimant: LimitedClaimant): void {
    if (this.#isClosed) return;
    this.#waiting.add(claimant);
    this.openInTime();
  }

  /** Somebody wants nothing any more. */
  forget(claimant: LimitedClaimant): void {
    this.#waiting.delete(claimant);
    if (this.#waiting.size === 0) this.ends();
  }

  /** Nothing is to be had before this time; epoch milliseconds on the local clock. */
  closeUntil(opensAt: number): void {
    this.#opensAt = opensAt;
  }

  /** Opens when it is time. */
  openInTime(): void {
    const { clock } = this.#context;
    if (this.#isClosed) return;
    this.#opening ??= clock.setTimer(Math.max(0, this.#opensAt - clock.now()), () => this.open());
  }

  /** There may be permits by now. */
  open(): void {
    this.#opensAt = -Infinity;
    this.wake();
  }

  /** Tells those that wait to ask again. */
  wake(): void {
    this.#opening?.cancel();
    this.#opening = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#told = waiting.length;
    for (const claimant of waiting) claimant.lookAgain();
    this.#told = 0;
  }

  /** There will be nothing any more, as whoever waits learns. */
  close(): void {
    this.#isClosed = true;
    this.wake();
    this.ends();
  }

  /** Messages wait. */
  begins(): void {
    if (this.#limitedSince !== undefined) return;
    this.#limitedSince = this.#context.clock.now();
    this.#tell(true);
  }

  /** No message waits. */
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
