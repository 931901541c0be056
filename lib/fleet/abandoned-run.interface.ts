/**
 * A handler call that goes on although its time is up: it has ignored the signal of its messages for a second. Its slot is
 * free, so it comes on top of `concurrency`, and nothing can stop it.
 *
 * @publicApi
 */
export interface AbandonedRun {
  readonly topic: string;
  /** Class and method of the handler, such as `OrderService.onTimeout`. */
  readonly handler: string;
  /** The messages that it was called with. */
  readonly ids: readonly string[];
  /** Time of the call, on the clock of this process. */
  readonly startedAt: Date;
  /** Milliseconds since its time was up. */
  readonly overtime: number;
}

/**
 * The abandoned runs of this process.
 *
 * @publicApi
 */
export interface AbandonedRuns {
  readonly count: number;
  /** Those whose time was up first; 20 at most. */
  readonly oldest: readonly AbandonedRun[];
}
