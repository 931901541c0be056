import type { RetentionLimits } from '../store/dead-letters/retention.js';
import type { TopicLimits } from '../store/deliveries/limits.js';
import { type HistorySettings, MAX_SPANS, MINUTE } from '../store/records/process-records.js';
import type { RedisSettings } from '../engines/redis/connection/which-redis.js';
import { describe } from '../checks/describe.js';
import { MAX_PARTITIONS } from '../checks/limits.js';
import { isPlainObject } from '../checks/kinds.js';
import {
  applyRules,
  asGiven,
  duration,
  integer,
  oneOf,
  orElse,
  type Rule,
  type Rules,
  trueOrFalse,
} from '../checks/rules.js';
import { asConfiguration, assertOptions } from '../checks/validate.js';
import type { ConsumerSettings } from '../consumer/consumer-context.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { DEFAULT_BACKOFF } from '../messages/backoff.js';
import { type ReplicaOptions, type ReplicaRequirement, resolveReplicas } from '../messages/replicas.js';
import { assertName } from '../messages/topic.js';
import type { DelayQueueMiddleware } from '../middleware/middleware.interface.js';
import { type MiddlewareLayers, resolveMiddleware } from '../middleware/middleware-layers.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';
import { DEFAULT_ATTEMPTS, type TopicSettings } from '../fleet/topic-settings.interface.js';
import { resolveForward } from '../outbound/forward/resolve-forward.js';
import type { OutboundTarget } from '../outbound/outbound-handlers.js';
import { resolvePush } from '../outbound/push/resolve-push.js';
import { assertRedis } from './redis-option.js';
import type {
  ConsumerOptions,
  DeadLetterOptions,
  DelayQueueModuleOptions,
  FinishedOptions,
  FleetEventsOptions,
  MaxInFlightOptions,
  RateLimitOptions,
  TopicOptions,
} from './delay-queue-options.interface.js';
import { ATTEMPTS, BACKOFF, CALL_TIMEOUT, CONCURRENCY, LEASE, LIMIT, SERIALIZER } from './option-rules.js';
import { parseDuration } from '../time/duration.js';

const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;

/** Lengths of spans that people can read off a chart, in minutes. */
const SPANS = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 5760];

/** @throws InvalidArgumentError */
function resolveHistory(history: unknown): HistorySettings {
  if (!isPlainObject(history)) {
    throw new InvalidArgumentError(`history must be { keep }. Given: ${describe(history)}.`);
  }
  assertOptions('history', history, ['keep']);
  const keep = parseDuration('history.keep', history['keep'], { min: HOUR, max: YEAR });
  // The longest span suffices for a year.
  const span = SPANS.find((minutes) => keep <= (MAX_SPANS - 1) * minutes * MINUTE) as number;
  return { span, keep };
}

/** Options of a connection, checked and with all defaults filled in. Times in milliseconds. */
export interface ResolvedOptions {
  /** Options as the application gave them. */
  readonly given: DelayQueueModuleOptions;
  readonly redis: RedisSettings;
  readonly prefix: string;
  readonly publishTimeout: number;
  /** Replicas that have to confirm each publish; `undefined` if none. */
  readonly replicas: ReplicaRequirement | undefined;
  /** `undefined` if this process only publishes. */
  readonly consumer: ConsumerSettings | undefined;
  /** Layers, of which the first is the outermost. */
  readonly middleware: MiddlewareLayers;
  /** `undefined` if nothing is measured. */
  readonly metrics: DelayQueueMetrics | undefined;
  /** `undefined` if this process does not publish its events to the fleet. */
  readonly fleetEvents: { readonly maxLength: number } | undefined;
  /** `undefined` if none is kept. */
  readonly history: HistorySettings | undefined;
  /** Topics that have settings of their own. */
  readonly topics: readonly string[];
  readonly topicSettings: (topic: string) => TopicSettings;
  /** Targets of messages in place of a handler, by topic. */
  readonly outbound: ReadonlyMap<string, OutboundTarget>;
}

/** Longest interval between heartbeats, in milliseconds. */
const LONGEST_HEARTBEAT = 5000;

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

const NO_RETENTION: RetentionLimits = { maxAge: undefined, maxCount: undefined };

const DEFAULT_TOPIC_SETTINGS: TopicSettings = {
  partitions: undefined,
  order: undefined,
  limits: undefined,
  delivery: 'at-least-once',
  attempts: DEFAULT_ATTEMPTS,
  backoff: DEFAULT_BACKOFF,
  timeout: undefined,
  expireAfter: undefined,
  serializer: undefined,
  deadLetter: NO_RETENTION,
  finished: undefined,
  said: new Set(),
};

/** @throws ConfigurationError that names the wrong option and the reason */
export function resolveOptions(options: DelayQueueModuleOptions): ResolvedOptions {
  return asConfiguration('DelayQueueModule', () => checkOptions(options));
}

/**
 * Checks options and fills in every default; the only place that does.
 *
 * @throws InvalidArgumentError
 */
export function checkOptions(options: DelayQueueModuleOptions): ResolvedOptions {
  const {
    name: _name,
    isGlobal: _isGlobal,
    topics,
    defaults,
    serializer,
    replicas,
    ...used
  } = applyRules(MODULE_RULES, 'The module options', options, '');
  const { settings, to } = resolveTopic('defaults', defaults, { ...DEFAULT_TOPIC_SETTINGS, serializer });
  if (to) throw new InvalidArgumentError(notForAll(to));
  const base = Object.freeze({ ...settings, said: DEFAULT_TOPIC_SETTINGS.said });
  const own = resolveTopics(topics, base);
  return Object.freeze({
    given: options,
    ...used,
    replicas: replicas === undefined ? undefined : resolveReplicas('replicas', replicas, used.publishTimeout),
    topics: [...own.keys()],
    topicSettings: (topic: string) => own.get(topic)?.settings ?? base,
    outbound: new Map([...own].flatMap(([topic, { to: target }]) => (target ? [[topic, target]] : []))),
  });
}

/** A topic without options of its own is not known when the process boots. */
function notForAll({ option }: OutboundTarget): string {
  return `defaults cannot have '${option}': give it to each topic whose messages go there, as in topics: { 'order.paid': { ${option} } }.`;
}

/** Rejects an option that comes from a factory: Nest removes it from the options of `forRoot()`. */
const notFromFactory: Rule<unknown, undefined> = (option, given) => {
  if (given === undefined) return undefined;
  throw new InvalidArgumentError(
    `The options that a factory makes have '${option}', which has to be known before it is called. Give it beside ` +
      `useFactory, useClass or useExisting: forRootAsync({ ${option}, useFactory }).`,
  );
};

const MODULE_RULES = {
  name: notFromFactory,
  isGlobal: notFromFactory,
  redis: (_, redis: RedisSettings = 'redis://127.0.0.1:6379') => {
    assertRedis(redis);
    return redis;
  },
  prefix: (name, prefix: string = 'dq') => {
    assertName(name, prefix);
    return prefix;
  },
  topics: orElse(asGiven<Record<string, TopicOptions>>, {}),
  defaults: orElse(asGiven<TopicOptions>, {}),
  consumer: (name, consumer: ConsumerOptions | false = {}) =>
    consumer === false ? undefined : resolveConsumer(name, consumer),
  publishTimeout: CALL_TIMEOUT,
  replicas: asGiven<ReplicaOptions | undefined>,
  middleware: (_, middleware: readonly DelayQueueMiddleware[] = []) => resolveMiddleware(middleware),
  metrics: orElse(resolveMetrics, undefined),
  fleetEvents: orElse(resolveFleetEvents, undefined),
  history: orElse((_, history: unknown) => resolveHistory(history), undefined),
  serializer: orElse(SERIALIZER, undefined),
} satisfies Rules<DelayQueueModuleOptions>;

interface ResolvedTopic {
  readonly settings: TopicSettings;
  readonly to: OutboundTarget | undefined;
}

function resolveTopics(topics: Record<string, TopicOptions>, base: TopicSettings): Map<string, ResolvedTopic> {
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

function resolveTopic(name: string, options: TopicOptions, base: TopicSettings): ResolvedTopic {
  const {
    push,
    forward,
    ordered: order,
    rateLimit: rate,
    maxInFlight: inFlight,
    ...used
  } = applyRules(topicRules(base), name, options);
  const said = new Set(Object.entries(options).flatMap(([option, given]) => (given === undefined ? [] : [option])));
  const settings = { ...used, order, limits: rate || inFlight ? { rate, inFlight } : undefined, said };
  assertMayBeOnce(name, settings, options.attempts !== undefined);
  if (push && forward) {
    throw new InvalidArgumentError(
      `${name} has 'push' and 'forward'. A message goes to one place: leave one of them out.`,
    );
  }
  const to: OutboundTarget | undefined = push
    ? { option: 'push', target: push }
    : forward && { option: 'forward', target: forward };
  return { settings: Object.freeze(settings), to };
}

/** Options that a topic leaves out come from `base`. */
function topicRules(base: TopicSettings) {
  return {
    partitions: orElse(integer(1, MAX_PARTITIONS), base.partitions),
    ordered: orElse(resolveOrder, base.order),
    rateLimit: orElse(orNone(resolveRate), base.limits?.rate),
    maxInFlight: orElse(orNone(resolveInFlight), base.limits?.inFlight),
    delivery: orElse(oneOf('at-least-once', 'at-most-once'), base.delivery),
    attempts: orElse(ATTEMPTS, base.attempts),
    backoff: orElse(BACKOFF, base.backoff),
    timeout: orElse(LIMIT, base.timeout),
    expireAfter: orElse(orNone(LIMIT), base.expireAfter),
    deadLetter: (name, deadLetter: DeadLetterOptions = {}) =>
      applyRules(retentionRules(0, base.deadLetter), name, deadLetter),
    finished: orElse(orNone(resolveFinished), base.finished),
    serializer: orElse(SERIALIZER, base.serializer),
    push: orElse(resolvePush, undefined),
    forward: orElse(resolveForward, undefined),
  } satisfies Rules<TopicOptions>;
}

/** Adds `false`, which means none, to a rule. */
function orNone<G, T>(rule: Rule<G, T>): Rule<G | false, T | undefined> {
  return (name, given) => (given === false ? undefined : rule(name, given));
}

/** @param fewest smallest allowed count */
function retentionRules(fewest: number, { maxAge, maxCount }: RetentionLimits) {
  return {
    maxAge: orElse(LIMIT, maxAge),
    maxCount: orElse(integer(fewest), maxCount),
  } satisfies Rules<DeadLetterOptions & FinishedOptions>;
}

/** A message that is gone when it is claimed can neither keep others waiting nor come again. */
function assertMayBeOnce(
  name: string,
  { delivery, order, limits }: Pick<TopicSettings, 'delivery' | 'order' | 'limits'>,
  hasAttempts: boolean,
): void {
  if (delivery === 'at-least-once') return;
  const conflicts = {
    ordered: order !== undefined && order !== 'none',
    maxInFlight: limits?.inFlight !== undefined,
    attempts: hasAttempts,
  };
  const [conflict] = Object.entries(conflicts).flatMap(([option, isGiven]) => (isGiven ? [option] : []));
  if (conflict === undefined) return;
  throw new InvalidArgumentError(
    `${name}.delivery cannot be 'at-most-once' together with '${conflict}': such a message is gone when a process takes it, so it neither ` +
      `keeps others waiting nor comes again. Leave one of them out.`,
  );
}

/** Without any limit, Redis would be full one day. */
function resolveFinished(name: string, finished: FinishedOptions): RetentionLimits {
  const limits = applyRules(retentionRules(1, NO_RETENTION), name, finished);
  if (limits.maxAge !== undefined || limits.maxCount !== undefined) return limits;
  throw new InvalidArgumentError(`${name} needs maxAge, maxCount, or both, so that it does not grow for ever.`);
}

function resolveOrder(name: string, ordered: NonNullable<TopicOptions['ordered']>): TopicSettings['order'] {
  if (typeof ordered === 'boolean') return ordered ? 'continue' : 'none';
  if (!isPlainObject(ordered)) {
    throw new InvalidArgumentError(`${name} must be true, false or { onDead }. Given: ${describe(ordered)}.`);
  }
  return applyRules({ onDead: oneOf('continue', 'block') }, name, ordered).onDead;
}

function resolveRate(name: string, options: RateLimitOptions): TopicLimits['rate'] {
  return applyRules(RATE_RULES, name, options);
}

const RATE_RULES = {
  max: integer(1, 1_000_000_000),
  per: duration(1000),
  by: orElse(oneOf('topic', 'key'), 'topic' as const),
} satisfies Rules<RateLimitOptions>;

function resolveInFlight(name: string, options: MaxInFlightOptions): TopicLimits['inFlight'] {
  const { topic, key } = applyRules(IN_FLIGHT_RULES, name, options);
  return topic === undefined && key === undefined ? undefined : { topic, key };
}

const MOST_IN_FLIGHT = orElse(integer(1, 1_000_000), undefined);

const IN_FLIGHT_RULES = { topic: MOST_IN_FLIGHT, key: MOST_IN_FLIGHT } satisfies Rules<MaxInFlightOptions>;

function resolveConsumer(name: string, options: ConsumerOptions): ConsumerSettings {
  const { maxIdleWait, ...settings } = applyRules(CONSUMER_RULES, name, options);
  return Object.freeze({ ...settings, heartbeat: Math.min(maxIdleWait, LONGEST_HEARTBEAT) });
}

const CONSUMER_RULES = {
  concurrency: orElse(CONCURRENCY, 100),
  lease: orElse(LEASE, 30_000),
  autoStart: orElse(trueOrFalse, true),
  shutdownTimeout: orElse(duration(0), 10_000),
  maxIdleWait: orElse(duration(100, 60_000), 5000),
} satisfies Rules<ConsumerOptions>;

function resolveMetrics(name: string, metrics: DelayQueueMetrics): DelayQueueMetrics {
  const missing = METRICS_FUNCTIONS.find((one) => typeof (metrics as DelayQueueMetrics | null)?.[one] !== 'function');
  if (missing === undefined) return metrics;
  throw new InvalidArgumentError(
    `${name} must be a DelayQueueMetrics, such as prometheusMetrics() of 'nestjs-delay-queue/prometheus'; it has no function ` +
      `'${missing}'. Given: ${describe(metrics)}.`,
  );
}

function resolveFleetEvents(name: string, fleetEvents: boolean | FleetEventsOptions): ResolvedOptions['fleetEvents'] {
  if (fleetEvents === false) return undefined;
  if (fleetEvents !== true && !isPlainObject(fleetEvents)) {
    throw new InvalidArgumentError(`${name} must be true, false or { maxLength }. Given: ${describe(fleetEvents)}.`);
  }
  return applyRules(FLEET_EVENTS_RULES, name, fleetEvents === true ? {} : fleetEvents);
}

/** Rules for the option. Its default means some 6 MB of events in Redis. */
const FLEET_EVENTS_RULES = {
  maxLength: orElse(integer(1000, 10_000_000), 100_000),
} satisfies Rules<FleetEventsOptions>;
