import type { Clock } from '../time/clock.js';

/** Fastest drift between two clocks, as a share of time; crystal clocks stay well below 100 ppm. */
const DRIFT = 0.0001;

/** Smallest change of an estimate for which timers that were set by it are set anew, in milliseconds. */
const STEP = 1;

/**
 * The broker's clock, estimated from its replies: a reply's time stamp was taken somewhere between sending and receiving,
 * so each exchange bounds the offset to half its round trip (Cristian's algorithm). The tightest bound is kept and
 * widens with age; one that contradicts it (a clock was set) replaces it.
 */
export class ServerClock {
  readonly #clock: Clock;
  readonly #onStep: () => void;
  #offset: number;
  #error = Infinity;
  #measuredAt = 0;
  /** Offset when it last stepped. */
  #toldOffset: number;

  /**
   * @param onStep called when the estimate has changed by a millisecond or more: the server's clock was set, or is known better
   * @param like a clock that may be near, whose offset is assumed until the first reply
   */
  constructor(clock: Clock, onStep: () => void, like?: ServerClock) {
    this.#clock = clock;
    this.#onStep = onStep;
    this.#offset = like ? like.#offset : 0;
    this.#toldOffset = this.#offset;
  }

  /** Whether there was a reply. */
  get isMeasured(): boolean {
    return this.#error !== Infinity;
  }

  /** Estimated time of the server, epoch milliseconds with fractions. */
  now(): number {
    return this.#clock.now() + this.#offset;
  }

  /** Estimated local time at a time of the server; both in epoch milliseconds. */
  toLocal(serverTime: number): number {
    return serverTime - this.#offset;
  }

  /**
   * @param serverTime time on the server's clock, epoch milliseconds with fractions
   * @param sentAt local time just before the request was sent
   */
  observe(serverTime: number, sentAt: number): void {
    const receivedAt = this.#clock.now();
    const error = (receivedAt - sentAt) / 2;
    const offset = serverTime - (sentAt + receivedAt) / 2;
    const knownError = this.#error + (receivedAt - this.#measuredAt) * DRIFT;
    const contradicts = Math.abs(offset - this.#offset) > error + knownError;
    if (error < knownError || contradicts) {
      this.#offset = offset;
      this.#error = error;
      this.#measuredAt = receivedAt;
    }
    if (Math.abs(this.#offset - this.#toldOffset) < STEP) return;
    this.#toldOffset = this.#offset;
    this.#onStep();
  }
}
