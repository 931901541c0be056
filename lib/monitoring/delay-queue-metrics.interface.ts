import type { BackgroundErrorSource, MissedEvent } from '../events/queue-events.interface.js';

/**
 * What became of a publish. `created`: the message is new. `duplicate`: its id existed, and the stored message was kept or
 * replaced, as `onDuplicate` says. `refused`: nothing was stored, because the id existed or the message is not allowed.
 * `failed`: it was not confirmed, for example because Redis could not be reached or too few replicas confirmed it.
 *
 * @publicApi
 */
export type PublishOutcome =
  /** The message is new. */
  | 'created'
  /** Its id existed; the stored message was left or replaced, as `onDuplicate` says. */
  | 'duplicate'
  /** Nothing was stored: the id existed, or the message is not allowed. */
  | 'refused'
  /** It was not confirmed, for example without Redis, or by too few replicas. */
  | 'failed';

/**
 * What became of a delivery, as in `DelayQueueEvents`. `retried` also counts those put off with `RetryLaterError`;
 * `cancelled` and `replaced` count those that did not succeed and whose message was cancelled or replaced meanwhile.
 *
 * @publicApi
 */
export type HandleOutcome =
  /** Acknowledged. */
  | 'acked'
  /** Failed or put off; it will come again. */
  | 'retried'
  /** Became a dead letter. */
  | 'dead'
  /** Did not succeed, and the message had been cancelled meanwhile: it is gone. */
  | 'cancelled'
  /** Did not succeed, and the message had been replaced meanwhile. */
  | 'replaced'
  /** Given back, for example at a shutdown. */
  | 'released'
  /** The outcome came too late and changed nothing. */
  | 'stale';

/**
 * What Redis holds of a topic, all partitions together.
 *
 * @publicApi
 */
export interface TopicBacklog {
  /** Messages that wait; those that are due are among them. */
  readonly scheduled: number;
  /** Messages whose time has come and that no process has claimed yet. */
  readonly due: number;
  /** Messages that wait behind others of their key, or for its limits; they are among the scheduled ones. */
  readonly blocked: number;
  /** Dead letters. */
  readonly dead: number;
  /** Messages that have ended and are kept. */
  readonly finished: number;
  /** Messages whose last attempt failed and that are tried again. */
  readonly retrying: number;
  /** How long the earliest unclaimed message has been due, in seconds; 0 if none is due. What is blocked does not count. */
  readonly oldestOverdue: number;
  /** Partitions that no process owns, such as those of a topic that is received while all who do are busy. */
  readonly unownedPartitions: number;
  /** Those who receive the topic, and have messages of it. */
  readonly busyReceivers: number;
  /** Those who receive the topic, and wait for messages or did a moment ago. */
  readonly idleReceivers: number;
  /** Partitions that hand nothing out because the topic is paused. */
  readonly pausedPartitions: number;
  /** Partitions that hand nothing out for a while because a handler has met a rate limit (`RateLimitedError`) or somebody has called `hold()` of the admin. */
  readonly heldPartitions: number;
}

/**
 * What this process does for a topic that it handles.
 *
 * @publicApi
 */
export interface TopicConsumption {
  readonly ownedPartitions: number;
  /** Messages that this process is handling: their outcomes are not decided yet. */
  readonly handling: number;
  /** Handler calls that go on although their time is up. */
  readonly abandonedRuns: number;
  /** For how long messages have waited for a limit of the topic, in seconds; 0 if none do. */
  readonly limited: number;
  /** For how long what the limits of the topic permit was over before a handler could be called, in seconds; 0 if it is not. */
  readonly starved: number;
}

/**
 * What this process knows of a topic at the time of a scrape.
 *
 * @publicApi
 */
export interface TopicReading {
  readonly topic: string;
  /** What this process does for the topic; `undefined` if it does not handle it. */
  readonly consumed: TopicConsumption | undefined;
  /** `undefined` if another process reports it, or Redis did not answer. */
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
 * What receives the metrics of the module, given as its option `metrics`; `prometheusMetrics()` of
 * `nestjs-delay-queue/prometheus` makes one. All times are in seconds. The functions are called while messages are published
 * and handled, so they should be quick; what they throw is logged once and has no other effect.
 *
 * @publicApi
 */
export interface DelayQueueMetrics {
  countPublished(topic: string, outcome: PublishOutcome): void;
  countHandled(topic: string, outcome: HandleOutcome): void;
  /** Counts occurrences of schedules that are not published. */
  countMissed(topic: string, reason: MissedEvent['reason'], occurrences: number): void;
  /** Counts a failure in the background, of which no caller is told. */
  countError(source: BackgroundErrorSource): void;
  /** Called for each message that is handed to its handler, with the time since it was due. */
  observeLateness(topic: string, seconds: number): void;
  /** Called for each delivery whose handler was called, once its outcome took effect, with the time that the handler ran. */
  observeHandler(topic: string, seconds: number): void;
  /** Called for each script that Redis has run for this process, with the round trip as the process saw it. */
  observeScript(script: string, seconds: number): void;
  /**
   * Called when the application boots.
   *
   * @param connection name of the module's connection
   * @param read takes a reading; several calls within a second share one. It never rejects, and takes at most 2 s
   * @returns a function that ends it, called when the application shuts down
   * @throws ConfigurationError if it cannot work with this connection: the boot fails
   */
  open(connection: string, read: () => Promise<MetricsReading>): () => void;
}
