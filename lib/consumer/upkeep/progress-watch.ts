import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { within } from '../../time/deadline.js';
import { Loop } from '../../time/loop.js';
import type { Startable } from '../../time/startable.interface.js';
import { type Progress, patienceOf } from '../../fleet/progress.js';
import type { ConsumerContext } from '../consumer-context.js';

/** How often to look while a call may take its patience, so that a wedge is seen soon after. */
const LOOKS = 3;

/** How long a confirmation that signals come may take, in milliseconds. */
const CONFIRMATION_TIMEOUT = 2000;

/** Whom a {@link ProgressWatch} watches over. */
export interface Watched {
  readonly progress: Progress;
  /** Sends claims that are not answered again. */
  retryClaims(): void;
}

/**
 * Sees that this process has not lost the broker without noticing: connections that are up but half dead, and calls that
 * nobody will answer. It makes connections anew. While all is well it only looks at what is known in this process.
 */
export class ProgressWatch implements Startable {
  readonly #context: ConsumerContext;
  readonly #watched: Watched;
  readonly #patience: number;
  readonly #stop = new AbortController();
  readonly #looks: Loop;
  #suspected = false;
  /** Epoch milliseconds on the local clock. What new connections did not help against they would not help against again. */
  #rebuiltAt = -Infinity;

  /** @param heartbeat milliseconds */
  constructor(context: ConsumerContext, heartbeat: number, watched: Watched) {
    this.#context = context;
    this.#watched = watched;
    this.#patience = patienceOf(heartbeat);
    const { clock } = context;
    this.#looks = new Loop({ clock, run: () => this.#look() });
  }

  start(): void {
    if (this.#looks.resting) this.#looks.later(this.#patience / LOOKS);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#looks.stop();
  }

  /**
   * To be called at boot, once this process listens to what it has to. Whatever keeps signals away for a while must not
   * keep the process from working, but a right that is missing would be missing for good.
   *
   * @throws BrokerUnavailableError if the broker refuses this process its signals
   */
  async assertListening(): Promise<void> {
    try {
      await this.#listen();
    } catch (error) {
      if (error instanceof BrokerUnavailableError && !error.transient) throw error;
    }
  }

  async #listen(): Promise<void> {
    const { clock, broker } = this.#context;
    await within(clock, CONFIRMATION_TIMEOUT, broker.link.listen(), { signal: this.#stop.signal });
  }

  /** @returns in how many milliseconds to look again */
  #look(): number {
    const { broker, clock, log } = this.#context;
    const waited = broker.link.isUp ? this.#longestWait() : 0;
    const isLong = waited > this.#patience;
    // After the event loop was blocked, answers may lie in the socket: only what is still missing at the next look counts.
    if (isLong && this.#suspected) {
      log.warn(`Redis has not answered for ${Math.round(waited)} ms, though the connection is up; it is made anew`);
      this.#rebuiltAt = clock.now();
      broker.link.rebuild('calls');
      this.#watched.retryClaims();
    }
    this.#suspected = isLong && !this.#suspected;
    return this.#patience / LOOKS;
  }

  /**
   * For how long the oldest claim or heartbeat has waited for its answer, in milliseconds. One that was sent before the latest
   * answer came does not count: the connection works, and it is one server of several that does not answer.
   */
  #longestWait(): number {
    const { renewedAt, unansweredSince, topics } = this.#watched.progress;
    const claims = topics.flatMap(({ owned }) => owned);
    const answeredAt = claims.reduce(
      (latest, claim) => Math.max(latest, claim.answeredAt),
      Math.max(this.#rebuiltAt, renewedAt),
    );
    const waits = [unansweredSince, ...claims.map((claim) => claim.unansweredSince)];
    const since = waits.reduce<number>(
      (first, at = -Infinity) => (at > answeredAt ? Math.min(first, at) : first),
      Infinity,
    );
    return since === Infinity ? 0 : this.#context.clock.now() - since;
  }
}
