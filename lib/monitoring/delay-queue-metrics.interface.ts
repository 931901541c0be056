import type { BackgroundErrorSource, MissedEvent } from '../events/queue-events.interface.js';

/**
 * Outcome of a publish. `created`: the message is new. `duplicate`: its id existed, and the stored message was kept or replaced, as
 * `onDuplicate` says. `refused`: nothing was stored, because the id existed or the message is not allowed. `failed`: it was not confirmed,
 * for example because Redis could not be reached or too few replicas confirmed it.
 *
 * @publicApi
 */
export type PublishOutcome =
  /** The message is new. */
  | 'created'
  /** Its id existed; the stored message was kept or replaced, as `onDuplicate` says. */
  | 'duplicate'
  /** Nothing was stored: the id existed, or the message is not allowed. */
  | 'refused'
  /** It was not confirmed, for example because Redis was unreachable or too few replicas confirmed it. */
  | 'failed';

/**
 * Outcome of a delivery, as in `DelayQueueEvents`. `retried` also counts deliveries put off with `RetryLaterError`; `cancelled` and
 * `replaced` count those that did not succeed and whose message was cancelled or replaced meanwhile.
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
 * Messages of a topic in Redis, all partitions together.
 *
 * @publicApi
 */
export interface TopicBacklog {
  /** Messages that wait, including due ones. */
  readonly scheduled: number;
  /** Due messages that no process has claimed yet. */
  readonly due: number;
  /** Messages that wait behind others of their key, or for its limits; included in the scheduled ones. */
  readonly blocked: number;
  /** Dead letters. */
  readonly dead: number;
  /** Finished messages that are kept. */
  readonly finished: number;
  /** Messages whose last attempt failed and that will be retried. */
  readonly retrying: number;
  /** Time for which the earliest unclaimed message has been due, in seconds; 0 if none is due. Blocked messages do not count. */
  readonly oldestOverdue: number;
  /** Partitions that no process owns, such as those of a received topic while all its receivers are busy. */
  readonly unownedPartitions: number;
  /** Receivers of the topic that have messages of it. */
  readonly busyReceivers: number;
  /** Receivers of the topic that wait for messages, or did a moment ago. */
  readonly idleReceivers: number;
  /** Partitions that hand out nothing because the topic is paused. */
  readonly pausedPartitions: number;
  /**
   * Partitions that hand out nothing for a while because a handler hit a rate limit (`RateLimitedError`), or because of the admin's
   * `hold()`.
   */
  readonly heldPartitions: number;
}

/**
 * Work of this process on a topic that it handles.
 *
 * @publicApi
 */
export interface TopicConsumption {
  readonly ownedPartitions: number;
  /** Messages that this process is handling, whose outcomes are not decided yet. */
  readonly handling: number;
  /** Handler calls that still run although their time is up. */
  readonly abandonedRuns: number;
  /** Time for which messages have waited for a limit of the topic, in seconds; 0 if none do. */
  readonly limited: number;
  /** Time for which permits of the topic have expired before a handler could be called, in seconds; 0 if they do not. */
  readonly starved: number;
}

/**
 * Data about a topic at the time of a scrape.
 *
 * @publicApi
 */
export interface TopicReading {
  readonly topic: string;
  /** Work of this process on the topic; `undefined` if it does not handle it. */
  readonly consumed: TopicConsumption | undefined;
  /** Messages in Redis; `undefined` if another process reports them, or Redis did not answer. */
  readonly backlog: TopicBacklog | undefined;
}

/**
 * Values of all gauges at the time of a scrape.
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
 * Receiver of the module's metrics, given as its option `metrics`; `prometheusMetrics()` of `nestjs-delay-queue/prometheus` creates one.
 * All times are in seconds. The functions are called while messages are published and handled, so they should be quick; the first error
 * they throw is logged, and none has any other effect.
 *
 * @publicApi
 */
export interface DelayQueueMetrics {
  countPublished(topic: string, outcome: PublishOutcome): void;
  countHandled(topic: string, outcome: HandleOutcome): void;
  /** Counts occurrences of schedules that are not published. */
  countMissed(topic: string, reason: MissedEvent['reason'], occurrences: number): void;
  /** Counts a failure in the background, which no caller learns of. */
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
   * @param read takes a reading; calls within a second share one. It never rejects, and takes at most 2 s
   * @returns a function that ends it, called when the application shuts down
   * @throws ConfigurationError if it cannot work with this connection: the boot fails
   */
  open(connection: string, read: () => Promise<MetricsReading>): () => void;
}
