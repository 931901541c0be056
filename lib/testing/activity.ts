import { ConfigurationError } from '../errors/options.errors.js';
import { nextTurn, realTime } from './real-time.js';

/**
 * Number of turns of the event loop without a broker call after which everything is quiet. The runtime never lets more than one pass
 * between two calls; the others are for application code that reacts to an event.
 */
const QUIET_TURNS = 3;

/** Number of deliveries at one point in time that no test makes on purpose. */
const ENDLESS = 20_000;

/** Tracks the activity of the applications under test: handler calls and broker calls. */
export class Activity {
  readonly #patience: number;
  /** Running handler calls, with the real time at which waiting for them began. */
  readonly #running = new Map<symbol, number | undefined>();
  #hasBegun = false;
  #calls = 0;
  #deliveries = 0;
  #latestTopic = '';
  #onCall: () => void = () => {};

  /** @param patience longest wait for a handler, in milliseconds of real time */
  constructor(patience: number) {
    this.#patience = patience;
  }

  /** Whether an application has booted, so that messages that fall due are handled. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Call this when an application has booted. */
  booted(): void {
    this.#hasBegun = true;
  }

  /** Call this whenever an application calls a broker. */
  called(): void {
    this.#calls++;
    this.#onCall();
  }

  /**
   * Call this when a handler is called, with the number of its messages.
   *
   * @returns a function to call at its end
   */
  handling(topic: string, deliveries: number): () => void {
    const call = Symbol();
    this.#latestTopic = topic;
    this.#deliveries += deliveries;
    this.#running.set(call, undefined);
    return () => {
      this.#running.delete(call);
      // Its outcome is sent by a call of the broker.
      this.called();
    };
  }

  /**
   * Resolves once everything is quiet: no handler runs, and no further call follows. A handler that takes longer than the patience is not
   * waited for, now or later.
   *
   * @throws ConfigurationError if the activity does not end
   */
  async quiet(): Promise<void> {
    const limit = this.#deliveries + ENDLESS;
    for (let turns = 0; turns < QUIET_TURNS;) {
      const calls = this.#calls;
      await nextTurn();
      const patience = this.#patienceLeft();
      if (patience > 0 && this.#calls === calls) await this.#callWithin(patience);
      turns = patience > 0 || this.#calls !== calls ? 0 : turns + 1;
      if (this.#deliveries > limit) throw endless(this.#latestTopic);
    }
  }

  /** Returns the longest time that a running handler is still worth waiting for. */
  #patienceLeft(): number {
    const now = realTime.now();
    let longest = 0;
    for (const [call, since = now] of this.#running) {
      this.#running.set(call, since);
      longest = Math.max(longest, since + this.#patience - now);
    }
    return longest;
  }

  /** Resolves at the next call, or when the time is over. */
  #callWithin(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = realTime.setTimeout(() => this.#onCall(), milliseconds);
      this.#onCall = () => {
        realTime.clearTimeout(timer);
        this.#onCall = () => {};
        resolve();
      };
    });
  }
}

function endless(topic: string): ConfigurationError {
  return new ConfigurationError(
    `More than ${ENDLESS} messages were delivered without time moving on, the latest of topic '${topic}'. Does a handler ` +
      `publish to its own topic without a delay, or put its message off by 0? Give it a delay.`,
  );
}
