import type { RedisSettings } from '../broker/redis/redis-settings.js';
import type { Duration } from '../time/duration.js';
import type { Backoff } from '../messages/backoff.js';
import type { DelayQueueMiddleware } from '../middleware/middleware.interface.js';
import type { ReplicaOptions } from '../messages/replicas.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';

export type { RedisSettings };

/**
 * Options of `DelayQueueModule.forRoot()`.
 *
 * @publicApi
 */
export interface DelayQueueModuleOptions {
  /**
   * Names the connection, if an application has several: producers are injected and handlers choose theirs by it. The
   * same characters as in a topic. @defaultValue 'default'
   */
  name?: string;
  /** Whether other modules can inject the producer without importing the module. @defaultValue true */
  isGlobal?: boolean;
  /** Which Redis to use. @defaultValue 'redis://127.0.0.1:6379' */
  redis?: RedisSettings;
  /** First part of every key; two prefixes on one Redis know nothing of each other. @defaultValue 'dq' */
  prefix?: string;
  /** Settings of single topics. A topic needs no entry. @defaultValue none */
  topics?: Record<string, TopicOptions>;
  /** Settings of every topic. @defaultValue none */
  defaults?: TopicOptions;
  /** How this process consumes; `false`: it only publishes. @defaultValue `{}` */
  consumer?: false | ConsumerOptions;
  /** Longest time until a publish is confirmed or rejected with `BrokerUnavailableError`, up to 60 s. @defaultValue '5s' */
  publishTimeout?: Duration;
  /**
   * How many replicas of Redis have to confirm each publish, and within which time; else it rejects with
   * `NotReplicatedError`. A publish may ask for other numbers. @defaultValue none
   */
  replicas?: ReplicaOptions;
  /** Functions around publishes, handler calls and settles, such as for correlation ids; the first is the outermost. @defaultValue none */
  middleware?: readonly DelayQueueMiddleware[];
  /**
   * Counts and measures what this process does, and reads the state of its topics, such as `prometheusMetrics()` of
   * `nestjs-delay-queue/prometheus`. @defaultValue none
   */
  metrics?: DelayQueueMetrics;
  /**
   * Whether this process tells the fleet what it does, for `DelayQueueEvents.fleet`. It costs a script call for each turn of
   * the event loop in which something happens; see docs/reference/events.md. @defaultValue false
   */
  fleetEvents?: boolean | FleetEventsOptions;
  /**
   * Keeps in Redis what the fleet did for each topic over days, for `DelayQueueAdmin.history()` and the dashboard. It is written with
   * heartbeats that are sent anyway. Give it to all processes that handle: each adds what it has done itself. @defaultValue none is kept
   */
  history?: HistoryOptions;
  /**
   * Takes payloads into JSON and back, for all topics that have none of their own. Every process that publishes to a topic,
   * handles it, or looks at its payloads needs the same. Give it to those that handle first: a message that was published
   * with a serializer becomes a dead letter (`'undecodable'`) in a process without one. The other way round does no harm: what
   * was published without one is left as it is. @defaultValue none: plain JSON
   */
  serializer?: PayloadSerializer;
}

/**
 * How long the history of topics is kept.
 *
 * @publicApi
 */
export interface HistoryOptions {
  /**
   * 1 hour to 1 year. It is divided into at most 97 spans, of 15 minutes for a day, 2 hours for a week and 8 hours for 30 days, so a
   * topic takes at most 64 KiB.
   */
  keep: Duration;
}

/**
 * What the fleet is told.
 *
 * @publicApi
 */
export interface FleetEventsOptions {
  /**
   * About how many events of the whole fleet Redis keeps: as many can be read after a lost connection. 1,000 to
   * 10,000,000, of some 60 bytes each with UUIDs as ids. @defaultValue 100,000
   */
  maxLength?: number;
}

/**
 * Settings of a topic.
 *
 * @publicApi
 */
export interface TopicOptions {
  /**
   * Number of partitions, 1 to 1024. Fixed at the first use of the topic: a process that is configured with another number
   * does not boot, and one that leaves it out takes the number that the topic has. @defaultValue what the topic has, 8 if it is new
   */
  partitions?: number;
  /**
   * Whether messages of one key are handled one at a time, in order of their due times and then of publishing, through retries and
   * put-offs. `onDead` says what a dead letter does to its key: those behind it go on (as with `true`), or wait until it is requeued or
   * removed (`'block'`). Fixed at the first use of the topic, like `partitions`; if it is left out, what is fixed already holds.
   *
   * @defaultValue what the topic has, `false` if it is new
   */
  ordered?: boolean | { onDead: 'continue' | 'block' };
  /**
   * How many handler calls may begin within a time, in the whole fleet: of the topic, or of each key. A batch counts its messages, and a
   * retry counts again. Limits are those of the process that handles the topic and has booted last. @defaultValue no limit
   */
  rateLimit?: RateLimitOptions;
  /** How many messages may be in flight at once in the whole fleet: of the topic, and of each key. @defaultValue no limit */
  maxInFlight?: MaxInFlightOptions;
  /**
   * `'at-most-once'`: a message is gone as soon as it is handed to a process, so it is never delivered twice; if the process dies, or the
   * handler fails, it is lost. Not together with `ordered`, `maxInFlight` or `attempts`. The process that handles the messages decides.
   *
   * @defaultValue 'at-least-once'
   */
  delivery?: 'at-least-once' | 'at-most-once';
  /** How many deliveries may fail before a message is a dead letter, 1 to 1000. @defaultValue 5 */
  attempts?: number;
  /** Wait between attempts. @defaultValue exponential from 1 s, doubling, at most 5 min, jitter 0.2 */
  backoff?: Backoff;
  /** Longest run of one handler call; after it, its signal aborts and the attempt has failed. @defaultValue none */
  timeout?: Duration;
  /** A message whose first delivery is not within this time after it was due becomes a dead letter. @defaultValue never */
  expireAfter?: Duration;
  /** How long (`maxAge`) and how many per partition (`maxCount`) dead letters are kept. @defaultValue all are kept, forever */
  deadLetter?: DeadLetterOptions;
  /**
   * Keeps what was acknowledged, cancelled or delivered at most once, so that it can be looked up and its id stays taken: for how long (`maxAge`), and how many
   * per partition (`maxCount`). One of both at least. The process that handles the messages decides. @defaultValue nothing is kept
   */
  finished?: FinishedOptions;
  /** Takes payloads into JSON and back. @defaultValue the module's */
  serializer?: PayloadSerializer;
}

/**
 * How many handler calls may begin within a time.
 *
 * @publicApi
 */
export interface RateLimitOptions {
  /** 1 to 1,000,000,000. */
  max: number;
  /** At least 1 s. */
  per: Duration;
  /** Whether all messages of the topic count together, or those of each key. @defaultValue 'topic' */
  by?: 'topic' | 'key';
}

/**
 * How many messages may be in flight at once, each 1 to 1,000,000.
 *
 * @publicApi
 */
export interface MaxInFlightOptions {
  /** Of the topic. @defaultValue no limit */
  topic?: number;
  /** Of each key; an ordered topic has one of a key in any case. @defaultValue no limit */
  key?: number;
}

/**
 * Which dead letters are kept.
 *
 * @publicApi
 */
export interface DeadLetterOptions {
  maxAge?: Duration;
  maxCount?: number;
}

/**
 * Which messages are kept once they have ended: those that ended within `maxAge`, and of those the last `maxCount` of each partition.
 *
 * @publicApi
 */
export interface FinishedOptions {
  maxAge?: Duration;
  maxCount?: number;
}

/**
 * How a process consumes.
 *
 * @publicApi
 */
export interface ConsumerOptions {
  /** Handler calls at once in this process, 1 to 100,000. @defaultValue 100 */
  concurrency?: number;
  /** For how long a delivery belongs to this process; renewed while the handler runs. At least 1 s. @defaultValue '30s' */
  lease?: Duration;
  /**
   * Whether messages are handled as soon as the application has bootstrapped; `false`: not before `DelayQueueConsumers.start()`.
   * @defaultValue true
   */
  autoStart?: boolean;
  /** How long running handlers may take at a shutdown, or when the intake of their topic is stopped. @defaultValue '10s' */
  shutdownTimeout?: Duration;
  /** Upper bound on sleeping without asking Redis, 100 ms to 60 s; also the heartbeat, up to 5 s. @defaultValue '5s' */
  maxIdleWait?: Duration;
}
