import type { Clock } from '../time/clock.js';
import { sleep } from '../time/retry.js';

/** Steps a second where a rate is given: what goes on comes in small portions. */
const STEPS_PER_SECOND = 10;

export interface PaceOptions {
  readonly clock: Clock;
  /** Messages a second; `undefined`: as fast as it goes. */
  readonly rate: number | undefined;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** Keeps work to a rate: each portion waits until those before it have had their time. */
export class Pace {
  readonly #options: PaceOptions;
  #nextAt = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Most messages of one portion, where `most` would be possible. */
  portion(most: number): number {
    const { rate = Infinity } = this.#options;
    return Math.max(1, Math.min(most, Math.floor(rate / STEPS_PER_SECOND)));
  }

  /** Resolves when so many messages may go, or once the signal is aborted. */
  async take(count: number): Promise<void> {
    const { clock, rate, signal } = this.#options;
    if (rate === undefined) return;
    const now = clock.now();
    const startAt = Math.max(now, this.#nextAt);
    this.#nextAt = startAt + (count / rate) * 1000;
    if (startAt > now) await sleep(clock, startAt - now, signal);
  }
}
