import type { Timer } from '../time/clock.js';
import type { Startable } from '../time/startable.interface.js';
import { TimeUp, within } from '../time/deadline.js';
import { BrokerUnavailableError } from '../errors/broker-unavailable.error.js';
import type { ConsumerContext } from './consumer-context.js';
import { patienceOf, type TopicProgress } from '../topics/progress.js';

/** How often to look while a call may take its patience, so that a wedge is seen soon after. */
const LOOKS = 3;

/** How long a confirmation that signals come may take, in milliseconds. */
const CONFIRMATION_TIMEOUT = 2000;

export interface ProgressWatchOptions {
  readonly context: ConsumerContext;
  /** Milliseconds. */
  readonly heartbeat: number;
  readonly progress: () => readonly TopicProgress[];
  /** Sends claims that are not answered again. */
  readonly retryClaims: () => void;
}

/**
 * Sees that this process has not lost the broker without noticing: connections that are up but half dead, and calls that
 * nobody will answer. It makes connections anew. While all is well it only looks at what is known in this process.
 */
export class ProgressWatch implements Startable {
  readonly #options: ProgressWatchOptions;
  readonly #patience: number;
  readonly #stop = new AbortController();
  #timer: Timer | undefined;
  #suspected = false;
  /** Epoch milliseconds on the local clock. What new connections did not help against they would not help against again. */
  #rebuiltAt = -Infinity;
  #confirming = false;

  constructor(options: ProgressWatchOptions) {
    this.#options = options;
    this.#patience = patienceOf(options.heartbeat);
  }

  start(): void {
    if (!this.#stop.signal.aborted) this.#timer ??= this.#lookLater();
  }

  stop(): void {
    this.#stop.abort();
    this.#timer?.cancel();
  }

  /**
   * To be called at boot, once this process listens to what it has to. Whatever keeps signals away for a while must not
   * keep the process from working, but a right that is missing would be missing for good.
   *
   * @throws BrokerUnavailableError if the broker refuses this process its signals
   */
  async assertListening(): Promise<void> {
    const { clock, broker } = this.#options.context;
    try {
      await within(clock, CONFIRMATION_TIMEOUT, broker.link.listen(), { signal: this.#stop.signal });
    } catch (error) {
      if (error instanceof BrokerUnavailableError && !error.transient) throw error;
    }
  }

  /** To be called when a signal turns out to be lost. One may be; finds out whether any still come. */
  async signalLost(): Promise<void> {
    const { clock, broker, log } = this.#options.context;
    if (this.#confirming || this.#stop.signal.aborted) return;
    this.#confirming = true;
    try {
      await within(clock, CONFIRMATION_TIMEOUT, broker.link.listen(), { signal: this.#stop.signal });
    } catch (error) {
      // Of every other failure the broker knows, and subscribes again by itself.
      if (error instanceof TimeUp && !this.#stop.signal.aborted) {
        log.warn('Signals do not come through any more, though the connection for them is up; it is made anew');
        broker.link.rebuild('signals');
      }
    } finally {
      this.#confirming = false;
    }
  }

  #lookLater(): Timer {
    return this.#options.context.clock.setTimer(this.#patience / LOOKS, () => {
      this.#timer = this.#lookLater();
      this.#look();
    });
  }

  #look(): void {
    const { broker, clock, log } = this.#options.context;
    const waited = broker.link.isUp ? this.#longestWait() : 0;
    const isLong = waited > this.#patience;
    // Where the event loop was blocked answers may lie in the socket: only what is still missing at the next look counts.
    if (isLong && this.#suspected) {
      log.warn(`Redis has not answered for ${Math.round(waited)} ms, though the connection is up; it is made anew`);
      this.#rebuiltAt = clock.now();
      broker.link.rebuild('calls');
      this.#options.retryClaims();
    }
    this.#suspected = isLong && !this.#suspected;
  }

  /** For how long the oldest claim or heartbeat has waited for its answer, in milliseconds. */
  #longestWait(): number {
    const { context, progress } = this.#options;
    const now = context.clock.now();
    const waits = progress().flatMap(({ unansweredSince, owned }) => [
      unansweredSince,
      ...owned.map((p) => p.unansweredSince),
    ]);
    return Math.max(0, ...waits.map((since = now) => (since > this.#rebuiltAt ? now - since : 0)));
  }
}
