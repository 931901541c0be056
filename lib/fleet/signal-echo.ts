import type { Broker } from '../store/broker.interface.js';
import type { Log } from '../log.js';
import type { Clock } from '../time/clock.js';
import { TimeUp, within } from '../time/deadline.js';

/** Longest time for the signal to come back, in milliseconds. */
const ECHO_TIMEOUT = 2000;

interface SignalEchoOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  /** Session that sends the signal to itself. */
  readonly id: string;
  /** Ends the wait. */
  readonly stop: AbortSignal;
}

/** Makes sure that signals come through: they can be lost although no connection ends. Then the connection for them is made anew. */
export class SignalEcho {
  readonly #options: SignalEchoOptions;
  #isLost = false;
  #onHeard: (() => void) | undefined;
  #listening: Promise<void> | undefined;

  constructor(options: SignalEchoOptions) {
    this.#options = options;
  }

  /** Sends the signal and waits for it. */
  send(count: number): void {
    this.#listening = this.#listen(count);
  }

  heard(): void {
    this.#onHeard?.();
  }

  /** Resolves once nothing is waited for. */
  async idle(): Promise<void> {
    await this.#listening;
  }

  /** Never rejects. */
  async #listen(count: number): Promise<void> {
    const { broker, clock, log, id, stop } = this.#options;
    const heard = new Promise<void>((resolve) => (this.#onHeard = resolve));
    try {
      await broker.fleet.tell({ to: id, signal: { kind: 'echo', count } });
      await within(clock, ECHO_TIMEOUT, heard, { signal: stop });
      this.#isLost = false;
    } catch (error) {
      if (!(error instanceof TimeUp) || stop.aborted) return;
      if (!this.#isLost) log.warn('Signals do not come through any more; the connection for them is made anew');
      this.#isLost = true;
      broker.link.rebuild('signals');
    }
  }
}
