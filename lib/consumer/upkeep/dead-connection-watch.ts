import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { within } from '../../time/deadline.js';
import { Loop } from '../../time/loop.js';
import type { Startable } from '../../time/startable.interface.js';
import { type Progress, patienceOf } from '../../fleet/progress.js';
import type { ConsumerContext } from '../consumer-context.js';

/** Number of looks during the patience for a call, so that a wedge is noticed soon after. */
const LOOKS = 3;

/** Time limit for the confirmation that signals arrive, in milliseconds. */
const CONFIRMATION_TIMEOUT = 2000;

/** Subject of a {@link DeadConnectionWatch}. */
export interface Watched {
  readonly progress: Progress;
  /** Sends unanswered claims again. */
  retryClaims(): void;
}

/**
 * Detects that this process has lost the broker without noticing: connections that are up but half dead, and calls that will never be
 * answered. Rebuilds the connections. While all is well, it only looks at data in this process.
 */
export class DeadConnectionWatch implements Startable {
  readonly #context: ConsumerContext;
  readonly #watched: Watched;
  readonly #patience: number;
  readonly #stop = new AbortController();
  readonly #looks: Loop;
  #suspected = false;
  /**
   * Time of the latest rebuild, in epoch milliseconds on the local clock. New connections would not cure a problem that they did not cure
   * before.
   */
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
   * Call this at boot, once this process has subscribed to its signals. A passing problem with signals must not keep the process from
   * working, but a missing right would stay missing.
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

  /** @returns time until the next look, in milliseconds */
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
   * Returns how long the oldest claim or heartbeat has waited for its answer, in milliseconds. One sent before the latest answered one does
   * not count: the connection works, and it is one server of several that does not answer.
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
