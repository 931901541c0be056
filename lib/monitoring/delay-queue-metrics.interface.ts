import type { BackgroundErrorSource } from '../events/queue-events.interface.js';

/**
 * What became of a publish. `created`: the message is new. `duplicate`: its id existed, and the stored message was left or
 * replaced, as `onDuplicate` says. `refused`: nothing was stored, since the id existed or the message is not allowed.
 * `failed`: it was not confirmed, as where Redis is out of reach.
 *
 * @publicApi
 */
export type PublishOutcome = 'created' | 'duplicate' | 'refused' | 'failed';

/**
 * What became of a delivery, as `DelayQueueEvents` tells it. `retried` counts those put off with `RetryLaterError` too;
 * `cancelled` and `replaced` are those whose message was meanwhile and that did not succeed.
 *
 * @publicApi
 */
export type HandleOutcome = 'acked' | 'retried' | 'dead' | 'cancelled' | 'replaced' | 'released' | 'stale';

/**
 * What the messages of a topic look like in Redis, all partitions together.
 *
 * @publicApi
 */
export interface TopicBacklog {
  /** Messages that wait; those that are due are among them. */
  readonly scheduled: number;
  /** Messages whose time has come and that no process has claimed yet. */
  readonly due: number;
  /** Dead letters. */
  readonly dead: number;
  /** For how long the earliest message has been due unclaimed, in seconds; 0 where none is due. */
  readonly oldestOverdue: number;
  /** Partitions that no process owns. */
  readonly unownedPartitions: number;
  /** Partitions that hand nothing out, since the topic is paused. */
  readonly pausedPartitions: number;
}

/**
 * What this process knows of a topic at the time of a scrape.
 *
 * @publicApi
 */
export interface TopicReading {
  readonly topic: string;
  /** What this process does for the topic; `undefined` where it does not handle it. */
  readonly consumed: { readonly ownedPartitions: number; readonly inFlight: number } | undefined;
  /** `undefined` where another process reports it, or Redis did not answer. */
  readonly backlog: TopicBacklog | undefined;
}

/**
 * The values of all gauges at the time of a scrape.
 *
 * @publicApi
 */
export interface MetricsReading {
  /** Whether Redis answered. */
  readonly up: boolean;
  /** Redis's clock minus the clock of this machine, in seconds. */
  readonly clockOffset: number;
  readonly topics: readonly TopicReading[];
}

/**
 * Where the module tells its metrics, given as its option `metrics`; `prometheusMetrics()` of
 * `nestjs-delay-queue/prometheus` is one. All times are in seconds. The functions are called while messages are published
 * and handled, so they should be quick; what they throw is logged once and has no other effect.
 *
 * @publicApi
 */
export interface DelayQueueMetrics {
  countPublished(topic: string, outcome: PublishOutcome): void;
  countHandled(topic: string, outcome: HandleOutcome): void;
  /** Counts what failed in the background, where nobody waits for it. */
  countError(source: BackgroundErrorSource): void;
  /** Told of each message that is handed to its handler: the time since it was due. */
  observeLateness(topic: string, seconds: number): void;
  /** Told of each delivery whose handler was called, once its outcome took effect: how long the handler ran. */
  observeHandler(topic: string, seconds: number): void;
  /** Told of each script that Redis has run for this process: the round trip as the process saw it. */
  observeScript(script: string, seconds: number): void;
  /**
   * Called when the application boots.
   *
   * @param connection name of the module's connection
   * @param read takes a reading; several calls within a second share one. It never rejects, and takes 2 s at most
   * @returns ends it; called when the application shuts down
   * @throws ConfigurationError where it cannot work with this connection; the boot fails
   */
  open(connection: string, read: () => Promise<MetricsReading>): () => void;
}
