import type { Clock } from '../time/clock.js';
import { sleep } from '../time/sleep.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';

/** For how long calls fail at once, in milliseconds. */
const FAST_FAILURES = 60_000;

/** After that a call fails once so much of the outage so far has passed again. */
const SHARE = 0.1;

interface Outage {
  readonly since: number;
  readonly over: AbortController;
}

/**
 * Takes the broker out of reach and brings it back. Whoever is refused tries again, four times a second; so the longer an
 * outage lasts the later calls fail, and a month of it costs hundreds of repeats, not ten million.
 */
export class Outages {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #outage: Outage | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(): void {
    this.#outage ??= { since: this.#clock.now(), over: new AbortController() };
  }

  end(): void {
    if (!this.#outage) return;
    this.#outage.over.abort();
    this.#outage = undefined;
    for (const listener of this.#listeners) listener();
  }

  /** @param listener called whenever the broker can be reached again */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** @throws BrokerUnavailableError during an outage, at once */
  assertNone(): void {
    if (this.#outage) throw refusal();
  }

  /** @throws BrokerUnavailableError during an outage */
  async assertReachable(): Promise<void> {
    if (!this.#outage) return;
    const { since, over } = this.#outage;
    const lasted = this.#clock.now() - since;
    if (lasted > FAST_FAILURES) await sleep(this.#clock, lasted * SHARE, over.signal);
    throw refusal();
  }
}

function refusal(): BrokerUnavailableError {
  return new BrokerUnavailableError('The test has disconnected the broker (disconnect)');
}
