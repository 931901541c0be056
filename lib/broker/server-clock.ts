import type { Clock } from '../time/clock.js';

/** How fast two clocks may drift apart, as a share of time; crystal clocks stay well below 100 ppm. */
const DRIFT = 0.0001;

/**
 * The broker's clock, estimated from its replies: a reply's time stamp was taken somewhere between sending and receiving,
 * so each exchange bounds the offset to half its round trip (Cristian's algorithm). The tightest bound is kept and
 * widens with age; one that contradicts it (a clock was set) replaces it.
 */
export class ServerClock {
  readonly #clock: Clock;
  #offset = 0;
  #error = Infinity;
  #measuredAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Estimated time of the server, epoch milliseconds with fractions. */
  now(): number {
    return this.#clock.now() + this.#offset;
  }

  /**
   * @param serverTime what the server's clock said, epoch milliseconds with fractions
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
  }
}
