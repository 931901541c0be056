import type { HistorySettings, RetentionLimits, TopicLimits } from '../broker/broker.interface.js';
import type { RedisSettings } from '../broker/redis/connection/redis-settings.js';
import { describe } from '../checks/describe.js';
import { MAX_ATTEMPTS, MAX_DELAY, MAX_PARTITIONS } from '../checks/limits.js';
import { isPlainObject } from '../checks/kinds.js';
import { asConfiguration, assertBoolean, assertInteger, assertOneOf, assertOptions } from '../checks/validate.js';
import type { ConsumerSettings } from '../consumer/consumer-context.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { DEFAULT_BACKOFF } from '../messages/backoff.js';
import { type ReplicaRequirement, resolveReplicas } from '../messages/replicas.js';
import { assertName } from '../messages/topic.js';
import { type MiddlewareLayers, resolveMiddleware } from '../middleware/middleware-layers.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';
import { parseDuration } from '../time/duration.js';
import type { TopicSettings } from '../fleet/topic-settings.interface.js';
import { assertRedis } from './assert-redis.js';
import type {
  ConsumerOptions,
  DelayQueueModuleOptions,
  FleetEventsOptions,
  MaxInFlightOptions,
  RateLimitOptions,
  TopicOptions,
} from './delay-queue-options.interface.js';
import { resolveHistory } from './resolve-history.js';
import {
  MAX_CONCURRENCY,
  optionalDuration,
  optionalSerializer,
  resolveBackoff,
  resolveLease,
} from './option-checks.js';

/** The options of a connection, checked and with all defaults filled in. Times in milliseconds. */
export interface ResolvedOptions {
  /** As the application gave them. */
  readonly given: DelayQueueModuleOptions;
  readonly redis: RedisSettings;
  readonly prefix: string;
  readonly publishTimeout: number;
  /** Replicas that have to confirm each publish; `undefined`: none. */
  readonly replicas: ReplicaRequirement | undefined;
  /** `undefined`: this process only publishes. */
  readonly consumer: ConsumerSettings | undefined;
  /** The first is the outermost. */
  readonly middleware: MiddlewareLayers;
  /** `undefined`: nothing is measured. */
  readonly metrics: DelayQueueMetrics | undefined;
  /** `undefined`: this process does not tell the fleet what it does. */
  readonly fleetEvents: { readonly maxLength: number } | undefined;
  /** `undefined`: none is kept. */
  readonly history: HistorySettings | undefined;
  /** Topics that have settings of their own. */
  readonly topics: readonly string[];
  readonly topicSettings: (topic: string) => TopicSettings;
}

/** How often a process tells at least that it lives, in milliseconds. */
const LONGEST_HEARTBEAT = 5000;

/** Half of the time for which Redis remembers the answer to a call, in milliseconds. */
const MAX_TIMEOUT = 60_000;

/** Most deliveries within the time of a rate limit. */
const MAX_RATE = 1_000_000_000;

/** Most messages in flight that a limit can name. */
const MAX_IN_FLIGHT = 1_000_000;

/** Events of the fleet that are kept unless an option says otherwise: some 6 MB in Redis. */
const DEFAULT_FLEET_LENGTH = 100_000;

const MODULE_OPTIONS = [
  'redis',
  'prefix',
  'topics',
  'defaults',
  'consumer',
  'publishTimeout',
  'replicas',
  'middleware',
  'metrics',
  'fleetEvents',
  'history',
  'serializer',
] as const;
/** They are needed when the module is imported, so they are given to `forRoot()`, or beside a factory. */
const IMPORT_OPTIONS = ['name', 'isGlobal'] as const;
const TOPIC_OPTIONS = [
  'partitions',
  'ordered',
  'rateLimit',
  'maxInFlight',
  'delivery',
  'attempts',
  'backoff',
  'timeout',
  'expireAfter',
  'deadLetter',
  'finished',
  'serializer',
] as const;
const CONSUMER_OPTIONS = ['concurrency', 'lease', 'autoStart', 'shutdownTimeout', 'maxIdleWait'] as const;

const METRICS_FUNCTIONS = [
  'countPublished',
  'countHandled',
  'countMissed',
  'countError',
  'observeLateness',
  'observeHandler',
  'observeScript',
  'open',
] as const satisfies readonly (keyof DelayQueueMetrics)[];

const DEFAULT_TOPIC_SETTINGS: TopicSettings = {
  partitions: undefined,
  order: undefined,
  limits: undefined,
  delivery: 'at-least-once',
  attempts: 5,
  backoff: DEFAULT_BACKOFF,
  timeout: undefined,
  expireAfter: undefined,
  serializer: undefined,
  deadLetter: { maxAge: undefined, maxCount: undefined },
  finished: undefined,
};

/** @throws ConfigurationError that says which option is wrong, and why */
export function resolveOptions(options: DelayQueueModuleOptions): ResolvedOptions {
  return asConfiguration('DelayQueueModule', () => checkOptions(options));
}

/**
 * Checks options and fills in every default; the only place that does.
 *
 * @throws InvalidArgumentError
 */
export function checkOptions(options: DelayQueueModuleOptions): ResolvedOptions {
  assertOptions('The module options', options, [...MODULE_OPTIONS, ...IMPORT_OPTIONS]);
  assertNotFromFactory(options);
  const { redis = 'redis://127.0.0.1:6379', prefix = 'dq', replicas } = options;
  const publishTimeout = resolveTimeout('publishTimeout', options.publishTimeout);
  const { topics = {}, defaults = {}, consumer = {}, middleware = [], metrics, fleetEvents = false, history } = options;
  const serializer = optionalSerializer('serializer', options.serializer);
  assertName('prefix', prefix);
  assertRedis(redis);
  const base = resolveTopic('defaults', defaults, { ...DEFAULT_TOPIC_SETTINGS, serializer });
  const own = resolveTopics(topics, base);
  return Object.freeze({
    given: options,
    redis,
    prefix,
    publishTimeout,
    replicas: replicas === undefined ? undefined : resolveReplicas('replicas', replicas, publishTimeout),
    consumer: consumer === false ? undefined : resolveConsumer(consumer),
    middleware: resolveMiddleware(middleware),
    metrics: resolveMetrics(metrics),
    fleetEvents: resolveFleetEvents(fleetEvents),
    history: history === undefined ? undefined : resolveHistory(history),
    topics: [...own.keys()],
    topicSettings: (topic: string) => own.get(topic) ?? base,
  });
}

/**
 * How long a call of the producer or the admin may take to be answered.
 *
 * @throws InvalidArgumentError
 */
export function resolveTimeout(name: string, timeout: unknown = '5s'): number {
  return parseDuration(name, timeout, { min: 1, max: MAX_TIMEOUT });
}

/** Nest takes them out of what `forRoot()` is given; if one is there, a factory has made it. */
function assertNotFromFactory(options: DelayQueueModuleOptions): void {
  const misplaced = IMPORT_OPTIONS.find((option) => options[option] !== undefined);
  if (misplaced === undefined) return;
  throw new InvalidArgumentError(
    `The options that a factory makes have '${misplaced}', which has to be known before it is called. Give it beside ` +
      `useFactory, useClass or useExisting: forRootAsync({ ${misplaced}, useFactory }).`,
  );
}

function resolveTopics(topics: Record<string, TopicOptions>, base: TopicSettings): Map<string, TopicSettings> {
  if (!isPlainObject(topics)) {
    throw new InvalidArgumentError(`topics must be an object of options by topic. Given: ${describe(topics)}.`);
  }
  return new Map(
    Object.entries(topics).map(([topic, options]) => {
      assertName('topic', topic);
      return [topic, resolveTopic(`topics['${topic}']`, options, base)];
    }),
  );
}

function resolveTopic(name: string, options: TopicOptions, base: TopicSettings): TopicSettings {
  assertOptions(name, options, TOPIC_OPTIONS);
  const { partitions = base.partitions, attempts = base.attempts, backoff, timeout, expireAfter } = options;
  if (partitions !== undefined) assertInteger(`${name}.partitions`, partitions, { min: 1, max: MAX_PARTITIONS });
  assertInteger(`${name}.attempts`, attempts, { min: 1, max: MAX_ATTEMPTS });
  const { deadLetter = {} } = options;
  assertOptions(`${name}.deadLetter`, deadLetter, ['maxAge', 'maxCount']);
  const { maxCount = base.deadLetter.maxCount } = deadLetter;
  if (maxCount !== undefined) {
    assertInteger(`${name}.deadLetter.maxCount`, maxCount, { min: 0, max: Number.MAX_SAFE_INTEGER });
  }
  const order = resolveOrder(`${name}.ordered`, options.ordered) ?? base.order;
  const limits = resolveLimits(name, options, base.limits);
  return Object.freeze({
    partitions,
    order,
    limits,
    delivery: resolveDelivery(name, options, { ...base, order, limits }),
    attempts,
    backoff: backoff === undefined ? base.backoff : resolveBackoff(`${name}.backoff`, backoff),
    timeout: optionalDuration(`${name}.timeout`, timeout) ?? base.timeout,
    expireAfter: optionalDuration(`${name}.expireAfter`, expireAfter) ?? base.expireAfter,
    serializer: optionalSerializer(`${name}.serializer`, options.serializer) ?? base.serializer,
    deadLetter: {
      maxAge: optionalDuration(`${name}.deadLetter.maxAge`, deadLetter.maxAge) ?? base.deadLetter.maxAge,
      maxCount,
    },
    finished: resolveFinished(`${name}.finished`, options.finished) ?? base.finished,
  });
}

/** What is gone when it is claimed can neither keep others waiting nor come again. */
function resolveDelivery(
  name: string,
  options: TopicOptions,
  { order, limits, ...base }: Pick<TopicSettings, 'delivery' | 'order' | 'limits'>,
): TopicSettings['delivery'] {
  const { delivery = base.delivery, attempts } = options;
  assertOneOf(`${name}.delivery`, delivery, ['at-least-once', 'at-most-once']);
  if (delivery === 'at-least-once') return delivery;
  const conflicts = {
    ordered: order !== undefined && order !== 'none',
    maxInFlight: limits?.inFlight !== undefined,
    attempts: attempts !== undefined,
  };
  const [conflict] = Object.entries(conflicts).flatMap(([option, isGiven]) => (isGiven ? [option] : []));
  if (conflict === undefined) return delivery;
  throw new InvalidArgumentError(
    `${name}.delivery cannot be 'at-most-once' together with '${conflict}': such a message is gone when a process takes it, so it neither ` +
      `keeps others waiting nor comes again. Leave one of them out.`,
  );
}

/** Without any limit, Redis would be full one day. */
function resolveFinished(name: string, finished: TopicOptions['finished']): RetentionLimits | undefined {
  if (finished === undefined) return undefined;
  assertOptions(name, finished, ['maxAge', 'maxCount']);
  const { maxAge, maxCount } = finished;
  if (maxAge === undefined && maxCount === undefined) {
    throw new InvalidArgumentError(`${name} needs maxAge, maxCount, or both, so that it does not grow for ever.`);
  }
  if (maxCount !== undefined) {
    assertInteger(`${name}.maxCount`, maxCount, { min: 1, max: Number.MAX_SAFE_INTEGER });
  }
  return { maxAge: optionalDuration(`${name}.maxAge`, maxAge), maxCount };
}

function resolveOrder(name: string, ordered: TopicOptions['ordered']): TopicSettings['order'] {
  if (ordered === undefined) return undefined;
  if (typeof ordered === 'boolean') return ordered ? 'continue' : 'none';
  if (!isPlainObject(ordered)) {
    throw new InvalidArgumentError(`${name} must be true, false or { onDead }. Given: ${describe(ordered)}.`);
  }
  assertOptions(name, ordered, ['onDead']);
  assertOneOf(`${name}.onDead`, ordered.onDead, ['continue', 'block']);
  return ordered.onDead;
}

function resolveLimits(
  name: string,
  { rateLimit, maxInFlight }: TopicOptions,
  base: TopicLimits | undefined,
): TopicLimits | undefined {
  const rate = rateLimit === undefined ? base?.rate : resolveRate(`${name}.rateLimit`, rateLimit);
  const inFlight = maxInFlight === undefined ? base?.inFlight : resolveInFlight(`${name}.maxInFlight`, maxInFlight);
  return rate || inFlight ? { rate, inFlight } : undefined;
}

function resolveRate(name: string, options: RateLimitOptions): TopicLimits['rate'] {
  assertOptions(name, options, ['max', 'per', 'by']);
  const { max, per, by = 'topic' } = options;
  assertInteger(`${name}.max`, max, { min: 1, max: MAX_RATE });
  assertOneOf(`${name}.by`, by, ['topic', 'key']);
  return { max, per: parseDuration(`${name}.per`, per, { min: 1000, max: MAX_DELAY }), by };
}

function resolveInFlight(name: string, options: MaxInFlightOptions): TopicLimits['inFlight'] {
  assertOptions(name, options, ['topic', 'key']);
  const { topic, key } = options;
  for (const [of, most] of Object.entries({ topic, key })) {
    if (most !== undefined) assertInteger(`${name}.${of}`, most, { min: 1, max: MAX_IN_FLIGHT });
  }
  return topic === undefined && key === undefined ? undefined : { topic, key };
}

function resolveConsumer(options: ConsumerOptions): ConsumerSettings {
  assertOptions('consumer', options, CONSUMER_OPTIONS);
  const { concurrency = 100, lease = '30s', autoStart = true, shutdownTimeout = '10s', maxIdleWait = '5s' } = options;
  assertInteger('consumer.concurrency', concurrency, { min: 1, max: MAX_CONCURRENCY });
  assertBoolean('consumer.autoStart', autoStart);
  return Object.freeze({
    concurrency,
    lease: resolveLease(lease),
    autoStart,
    shutdownTimeout: parseDuration('consumer.shutdownTimeout', shutdownTimeout, { max: MAX_DELAY }),
    heartbeat: Math.min(
      parseDuration('consumer.maxIdleWait', maxIdleWait, { min: 100, max: 60_000 }),
      LONGEST_HEARTBEAT,
    ),
  });
}

function resolveMetrics(metrics: DelayQueueMetrics | undefined): DelayQueueMetrics | undefined {
  if (metrics === undefined) return undefined;
  const missing = METRICS_FUNCTIONS.find((name) => typeof (metrics as DelayQueueMetrics | null)?.[name] !== 'function');
  if (missing === undefined) return metrics;
  throw new InvalidArgumentError(
    `metrics must be a DelayQueueMetrics, such as prometheusMetrics() of 'nestjs-delay-queue/prometheus'; it has no function ` +
      `'${missing}'. Given: ${describe(metrics)}.`,
  );
}

function resolveFleetEvents(fleetEvents: boolean | FleetEventsOptions): ResolvedOptions['fleetEvents'] {
  if (fleetEvents === false) return undefined;
  if (fleetEvents === true) return { maxLength: DEFAULT_FLEET_LENGTH };
  if (!isPlainObject(fleetEvents)) {
    throw new InvalidArgumentError(
      `fleetEvents must be true, false or { maxLength }. Given: ${describe(fleetEvents)}.`,
    );
  }
  assertOptions('fleetEvents', fleetEvents, ['maxLength']);
  const { maxLength = DEFAULT_FLEET_LENGTH } = fleetEvents;
  assertInteger('fleetEvents.maxLength', maxLength, { min: 1000, max: 10_000_000 });
  return { maxLength };
}
