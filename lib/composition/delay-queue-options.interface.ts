import type { RedisSettings } from '../engines/redis/connection/which-redis.js';
import type { Duration } from '../time/duration.js';
import type { Backoff } from '../messages/backoff.js';
import type { DelayQueueMiddleware } from '../middleware/middleware.interface.js';
import type { ReplicaOptions } from '../messages/replicas.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { ForwardOptions } from '../outbound/forward/forward-options.interface.js';
import type { PushOptions } from '../outbound/push/push-options.interface.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';

export type { RedisSettings };

/**
 * Options of `DelayQueueModule.forRoot()`.
 *
 * @publicApi
 */
export interface DelayQueueModuleOptions {
  /**
   * Name of the connection, if an application has several: inject producers by it, and choose it in handlers. 1 to 128 characters of `A-Z
   * a-z 0-9 . _ : -`.
   *
   * @defaultValue 'default'
   * @see docs/reference/options.md#several-connections
   */
  name?: string;
  /** Whether other modules can inject the producer without importing the module. @defaultValue true */
  isGlobal?: boolean;
  /**
   * Redis to use.
   *
   * @defaultValue 'redis://127.0.0.1:6379'
   * @see docs/reference/redis.md
   */
  redis?: RedisSettings;
  /**
   * First part of every key, with `/` for each `:`; 1 to 128 characters of `A-Z a-z 0-9 . _ : -`. Two prefixes share nothing, even on the
   * same Redis.
   *
   * @defaultValue 'dq'
   */
  prefix?: string;
  /** Settings of individual topics. A topic needs no entry. @defaultValue none */
  topics?: Record<string, TopicOptions>;
  /** Settings of every topic. @defaultValue none */
  defaults?: TopicOptions;
  /**
   * Options for handling messages in this process; with `false` it only publishes.
   *
   * @defaultValue `{}`
   * @see docs/guides/deployment.md#separate-api-and-worker-processes
   */
  consumer?: false | ConsumerOptions;
  /**
   * Longest time until a publish or cancel is confirmed, or rejects with `BrokerUnavailableError`, and until Redis is reached at boot: 1 ms
   * to 60 s.
   *
   * @defaultValue '5s'
   */
  publishTimeout?: Duration;
  /**
   * Number of Redis replicas that have to confirm each publish, and the time limit for that; otherwise it rejects with
   * `NotReplicatedError`. A publish can set its own numbers.
   *
   * @defaultValue none
   * @see docs/reference/publishing.md#confirmed-by-replicas
   */
  replicas?: ReplicaOptions;
  /**
   * Functions that run around publishes, handler calls and settles, for example for correlation ids; the first is the outermost.
   *
   * @defaultValue none
   * @see docs/reference/middleware.md
   */
  middleware?: readonly DelayQueueMiddleware[];
  /**
   * Counts and measures what this process does, and reads the state of its topics, such as `prometheusMetrics()` of
   * `nestjs-delay-queue/prometheus`.
   *
   * @defaultValue none
   * @see docs/reference/metrics.md
   */
  metrics?: DelayQueueMetrics;
  /**
   * Whether this process publishes its events for the fleet, see `DelayQueueEvents.fleet`. This costs one script call for each turn of the
   * event loop in which something happens.
   *
   * @defaultValue false
   * @see docs/reference/events.md#fleet-events
   */
  fleetEvents?: boolean | FleetEventsOptions;
  /**
   * Keeps a history of the fleet's work on each topic, 1 hour to 1 year of it, for `DelayQueueAdmin.history()` and the dashboard. It is
   * written along with the regular heartbeats. Set it in all processes that handle messages: each one adds its own work.
   *
   * @defaultValue none is kept
   * @see docs/reference/admin.md#history
   */
  history?: HistoryOptions;
  /**
   * Converts payloads to JSON and back, for all topics without a serializer of their own. Every process that publishes to a topic, handles
   * it or reads its payloads needs the same one.
   *
   * Deploy it to the handling processes first: a process without one puts off messages that were published with it. The other way round
   * does no harm: payloads that were published without a serializer stay as they are.
   *
   * @defaultValue none: plain JSON
   * @see docs/reference/publishing.md#payload
   */
  serializer?: PayloadSerializer;
}

/**
 * Options of the history of topics.
 *
 * @publicApi
 */
export interface HistoryOptions {
  /**
   * Time for which it is kept, 1 hour to 1 year. The history has at most 97 spans: of 15 minutes for a day, 2 hours for a week, and 8 hours
   * for 30 days. So a topic takes at most 64 KiB.
   */
  keep: Duration;
}

/**
 * Options of the events that a process publishes for the fleet.
 *
 * @publicApi
 */
export interface FleetEventsOptions {
  /**
   * Approximate number of events of the whole fleet that Redis keeps, so that you can read them after a lost connection. 1,000 to
   * 10,000,000, of about 60 bytes each with UUIDs as ids. @defaultValue 100,000
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
   * Number of partitions, 1 to 1024. Fixed when the topic is first used: a process with another number fails to boot, and a process that
   * leaves the option out uses the number that the topic has.
   *
   * @defaultValue what the topic has, `8` if it is new
   */
  partitions?: number;
  /**
   * Whether messages of a key are handled one at a time, in order of their due times and then of publishing, even when one of them is
   * retried or put off. `onDead` decides what happens after a dead letter: the other messages of its key go on (as with `true`), or wait
   * until it is requeued or removed (`'block'`). Fixed when the topic is first used, like `partitions`.
   *
   * @defaultValue what the topic has, `false` if it is new
   * @see docs/guides/order.md
   */
  ordered?: boolean | { onDead: 'continue' | 'block' };
  /**
   * Rate limit: most handler calls that can begin within a time, in the whole fleet, for the topic or for each key (`by`, `'topic'` by
   * default). `max` is 1 to 1,000,000,000, and `per` at least 1 s. A batch counts its messages, and a retry counts again. The limits of the
   * handling process that booted last apply to all processes.
   *
   * @defaultValue no limit
   * @see docs/guides/limits.md#rate-limit
   */
  rateLimit?: RateLimitOptions | false;
  /**
   * Concurrency limit: most messages in flight at once in the whole fleet, of the topic and of each key, each 1 to 1,000,000.
   *
   * @defaultValue no limit
   * @see docs/guides/limits.md#concurrency-limit
   */
  maxInFlight?: MaxInFlightOptions | false;
  /**
   * With `'at-most-once'`, a message is gone as soon as a process takes it. It is not delivered again: if the process dies or the handler
   * fails, the message is lost. Can't be combined with `ordered`, `maxInFlight` or `attempts`. The process that handles the messages
   * decides.
   *
   * @defaultValue 'at-least-once'
   * @see docs/reference/handling.md#at-most-once-delivery
   */
  delivery?: 'at-least-once' | 'at-most-once';
  /** Number of failed deliveries after which a message is a dead letter, 1 to 1000. @defaultValue 5 */
  attempts?: number;
  /**
   * Wait between attempts.
   *
   * @defaultValue exponential from 1 s, doubling, at most 5 min, jitter 0.2
   * @see docs/reference/options.md#backoff
   */
  backoff?: Backoff;
  /** Longest run of one handler call, at least 1 ms. After that, its signal aborts and the attempt fails. @defaultValue none */
  timeout?: Duration;
  /** A message that is not delivered within this time after its due time becomes a dead letter. At least 1 ms. @defaultValue never */
  expireAfter?: Duration | false;
  /** Retention of dead letters, by age (`maxAge`) and by number per partition (`maxCount`). @defaultValue all are kept, forever */
  deadLetter?: DeadLetterOptions;
  /**
   * Keeps messages that were acknowledged, cancelled or delivered at most once, so that you can look them up and their ids stay taken. Set
   * an age (`maxAge`), a number per partition (`maxCount`), or both. The process that handles the messages decides.
   *
   * @defaultValue nothing is kept
   * @see docs/guides/finished.md
   */
  finished?: FinishedOptions | false;
  /** Converts payloads to JSON and back. @defaultValue the module's */
  serializer?: PayloadSerializer;
  /**
   * Sends the messages of the topic to a URL, in place of a handler. Only for a single topic, not in `defaults`. A process that only
   * publishes pushes nothing.
   *
   * @defaultValue none
   * @see docs/guides/push.md
   */
  push?: PushOptions;
  /**
   * Emits the messages of the topic through a `ClientProxy` of Nest, such as into RabbitMQ or Kafka, in place of a handler. Only for a
   * single topic, not in `defaults`, and not together with {@link push}. A process that only publishes forwards nothing.
   *
   * @defaultValue none
   * @see docs/guides/forward.md
   */
  forward?: ForwardOptions;
}

/**
 * A rate limit: most handler calls that can begin within a time.
 *
 * @publicApi
 */
export interface RateLimitOptions {
  /** Most calls, 1 to 1,000,000,000. */
  max: number;
  /** Period, at least 1 s. */
  per: Duration;
  /** Whether the limit is for all messages of the topic together, or for each key. @defaultValue 'topic' */
  by?: 'topic' | 'key';
}

/**
 * A concurrency limit: most messages in flight at once, each 1 to 1,000,000.
 *
 * @publicApi
 */
export interface MaxInFlightOptions {
  /** Most messages of the topic. @defaultValue no limit */
  topic?: number;
  /** Most messages of each key. In an ordered topic this is always 1. @defaultValue no limit */
  key?: number;
}

/**
 * Retention of dead letters, by age (`maxAge`) and by number per partition (`maxCount`).
 *
 * @publicApi
 */
export interface DeadLetterOptions {
  maxAge?: Duration;
  maxCount?: number;
}

/**
 * Retention of finished messages, by age (`maxAge`) and by number per partition (`maxCount`): the latest ones are kept.
 *
 * @publicApi
 */
export interface FinishedOptions {
  maxAge?: Duration;
  maxCount?: number;
}

/**
 * Options for handling messages in a process.
 *
 * @publicApi
 */
export interface ConsumerOptions {
  /** Most handler calls at once in this process, 1 to 100,000. @defaultValue 100 */
  concurrency?: number;
  /**
   * Time for which a delivery belongs to this process, at least 1 s; renewed three times per lease while the handler runs.
   *
   * @defaultValue '30s'
   */
  lease?: Duration;
  /**
   * Whether this process handles messages as soon as the application has bootstrapped; with `false`, only after
   * `DelayQueueConsumers.start()`.
   *
   * @defaultValue true
   * @see docs/guides/intake.md
   */
  autoStart?: boolean;
  /**
   * Time limit for running handlers at a shutdown, or when the intake of their topic is stopped.
   *
   * @defaultValue '10s'
   * @see docs/guides/deployment.md#graceful-shutdown
   * @see docs/guides/intake.md
   */
  shutdownTimeout?: Duration;
  /**
   * Heartbeat of this process, 100 ms to 60 s: if it dies, others take over its partitions after 1 to 3 heartbeats. More than 5 s acts as 5
   * s. This is also the longest sleep without a call to Redis.
   *
   * @defaultValue '5s'
   */
  maxIdleWait?: Duration;
}
