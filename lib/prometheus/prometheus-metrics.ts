import { type Aggregator, Counter, Gauge, Histogram, type Metric, register, type Registry } from 'prom-client';
import { ConfigurationError } from '../errors/options.errors.js';
import type { MetricsReading, TopicBacklog, TopicConsumption } from '../admin/index.js';
import type { BackgroundErrorSource, DelayQueueMetrics, HandleOutcome, MissedEvent, PublishOutcome } from '../index.js';
import { type CheckedOptions, checkOptions, type PrometheusMetricsOptions } from './prometheus-options.js';

type Instruments = ReturnType<typeof createInstruments>;

/**
 * Makes the metrics without registering them.
 *
 * @param collect called before a gauge is read
 */
function createInstruments({ prefix, buckets }: CheckedOptions, collect: () => Promise<void>) {
  const named = (name: string, help: string) => ({ name: prefix + name, help, registers: [] });
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ ...named(name, help), labelNames });
  const histogram = <L extends string>(name: string, help: string, label: L, bounds: readonly number[]) =>
    new Histogram({ ...named(name, help), labelNames: [label] as const, buckets: [...bounds] });
  const gauge = (name: string, help: string, aggregator: Aggregator) =>
    new Gauge({ ...named(name, help), collect, aggregator });
  const topicGauge = (name: string, help: string, aggregator: Aggregator = 'max') =>
    new Gauge({ ...named(name, help), labelNames: ['topic'] as const, collect, aggregator });
  return {
    published: counter('published_total', 'Messages that this process has published, or has tried to.', [
      'topic',
      'outcome',
    ]),
    handled: counter('handled_total', 'Deliveries to this process that have ended.', ['topic', 'outcome']),
    missed: counter('missed_occurrences_total', 'Occurrences of schedules that were not published.', [
      'topic',
      'reason',
    ]),
    errors: counter('errors_total', 'What failed in the background, where nobody waits for it.', ['source']),
    lateness: histogram(
      'lateness_seconds',
      'Time from when a message was due until it was handed to its handler.',
      'topic',
      buckets.lateness,
    ),
    handler: histogram('handler_duration_seconds', 'Running time of handlers.', 'topic', buckets.handler),
    script: histogram('script_duration_seconds', 'Round trip of a script to Redis.', 'script', buckets.script),
    up: gauge('up', 'Whether Redis answered this process: 1 or 0.', 'min'),
    clockOffset: gauge('clock_offset_seconds', "Redis's clock minus the clock of this machine.", 'max'),
    consumption: {
      handling: topicGauge('handling', 'Messages that this process is handling.', 'sum'),
      abandonedRuns: topicGauge('abandoned_runs', 'Handler calls that go on although their time is up.', 'sum'),
      ownedPartitions: topicGauge('owned_partitions', 'Partitions that this process owns.', 'sum'),
      limited: topicGauge(
        'limited_seconds',
        'For how long messages have waited for a limit of the topic; 0 if none do.',
      ),
      starved: topicGauge(
        'starved_seconds',
        'Seconds for which permits of the topic have expired unused; 0 if they are used in time.',
      ),
    } satisfies Record<keyof TopicConsumption, unknown>,
    backlog: {
      scheduled: topicGauge('scheduled', 'Messages that wait, those that are due among them.'),
      due: topicGauge('due', 'Messages whose time has come and that no process has claimed yet.'),
      blocked: topicGauge('blocked', 'Messages that wait behind others of their key, or for its limits.'),
      dead: topicGauge('dead', 'Dead letters.'),
      finished: topicGauge('finished', 'Messages that have ended and are kept.'),
      retrying: topicGauge('retrying', 'Messages whose last attempt failed and that are tried again.'),
      oldestOverdue: topicGauge('oldest_overdue_seconds', 'For how long the earliest message is due and unclaimed.'),
      unownedPartitions: topicGauge('unowned_partitions', 'Partitions that no process owns.'),
      busyReceivers: topicGauge('busy_receivers', 'Those who receive the topic, and have messages of it.'),
      idleReceivers: topicGauge('idle_receivers', 'Those who receive the topic, and wait for messages.'),
      pausedPartitions: topicGauge('paused_partitions', 'Partitions that hand nothing out: the topic is paused.'),
      heldPartitions: topicGauge(
        'held_partitions',
        'Partitions that hand nothing out for a while: a rate limit was met, or somebody holds the topic.',
      ),
    } satisfies Record<keyof TopicBacklog, unknown>,
  };
}

/** All metrics as one list. */
function listInstruments({ consumption, backlog, ...others }: Instruments): Metric[] {
  return [...Object.values(others), ...Object.values(consumption), ...Object.values(backlog)] as Metric[];
}

/** Sets every gauge to what was read, by one module or several of the same connection. A gauge shows only what was read. */
function showReadings(instruments: Instruments, readings: readonly MetricsReading[]): void {
  const { up, clockOffset, consumption, backlog } = instruments;
  for (const gauge of [...Object.values(consumption), ...Object.values(backlog)]) gauge.reset();
  up.set(readings.every((reading) => reading.up) ? 1 : 0);
  for (const reading of readings) {
    clockOffset.set(reading.clockOffset);
    for (const topic of reading.topics) {
      show(consumption, topic.consumed, topic.topic);
      show(backlog, topic.backlog, topic.topic);
    }
  }
}

/** @param read one value for each of the gauges; `undefined` if another process tells */
function show<K extends string>(
  gauges: Readonly<Record<K, Gauge<'topic'>>>,
  read: Readonly<Record<K, number>> | undefined,
  topic: string,
): void {
  if (!read) return;
  for (const [name, gauge] of Object.entries<Gauge<'topic'>>(gauges)) gauge.set({ topic }, read[name as K]);
}

/**
 * Metrics for Prometheus, for the module's option `metrics`. They are in the registry from the boot of the application to its
 * shutdown. `docs/monitoring` lists them, and has alert rules and a dashboard. Each connection needs its own `prefix` or
 * `registry`.
 *
 * @throws ConfigurationError if an option is wrong
 *
 * @example
 * ```ts
 * DelayQueueModule.forRoot({ metrics: prometheusMetrics() });
 * ```
 *
 * @publicApi
 */
export function prometheusMetrics(options: PrometheusMetricsOptions = {}): DelayQueueMetrics {
  const checked = checkOptions(options);
  return new PrometheusMetrics(options.registry ?? register, checked);
}

/** Hands metrics to prom-client, and takes a reading for each scrape. */
class PrometheusMetrics implements DelayQueueMetrics {
  readonly #registry: Registry;
  readonly #prefix: string;
  readonly #instruments: Instruments;
  /** One for each module; several if the module of a connection is imported more than once. */
  readonly #readers = new Set<() => Promise<MetricsReading>>();
  #connection: string | undefined;
  #collecting: Promise<void> | undefined;

  constructor(registry: Registry, options: CheckedOptions) {
    this.#registry = registry;
    this.#prefix = options.prefix;
    this.#instruments = createInstruments(options, async () => this.#collect());
  }

  countPublished(topic: string, outcome: PublishOutcome): void {
    this.#instruments.published.inc({ topic, outcome });
  }

  countHandled(topic: string, outcome: HandleOutcome): void {
    this.#instruments.handled.inc({ topic, outcome });
  }

  countMissed(topic: string, reason: MissedEvent['reason'], occurrences: number): void {
    this.#instruments.missed.inc({ topic, reason }, occurrences);
  }

  countError(source: BackgroundErrorSource): void {
    this.#instruments.errors.inc({ source });
  }

  observeLateness(topic: string, seconds: number): void {
    this.#instruments.lateness.observe({ topic }, seconds);
  }

  observeHandler(topic: string, seconds: number): void {
    this.#instruments.handler.observe({ topic }, seconds);
  }

  observeScript(script: string, seconds: number): void {
    this.#instruments.script.observe({ script }, seconds);
  }

  open(connection: string, read: () => Promise<MetricsReading>): () => void {
    if (this.#readers.size === 0) this.#register(connection);
    else if (connection !== this.#connection) throw this.#taken(connection);
    this.#connection = connection;
    this.#readers.add(read);
    return () => {
      this.#readers.delete(read);
      if (this.#readers.size === 0) for (const name of this.#names()) this.#registry.removeSingleMetric(name);
    };
  }

  #register(connection: string): void {
    if (this.#names().some((name) => this.#registry.getSingleMetric(name))) throw this.#taken(connection);
    for (const metric of listInstruments(this.#instruments)) this.#registry.registerMetric(metric);
  }

  /** A scrape collects each gauge separately, all in one turn of the event loop: they share one reading. */
  async #collect(): Promise<void> {
    this.#collecting ??= this.#readAll();
    await this.#collecting;
  }

  async #readAll(): Promise<void> {
    const readings = await Promise.all(Array.from(this.#readers, async (read) => read()));
    this.#collecting = undefined;
    showReadings(this.#instruments, readings);
  }

  #names(): string[] {
    return listInstruments(this.#instruments).map((metric) => (metric as unknown as { readonly name: string }).name);
  }

  #taken(connection: string): ConfigurationError {
    return new ConfigurationError(
      `The metrics of connection '${connection}' have the names of others in the registry (prefix '${this.#prefix}'). Give each ` +
        `connection a prometheusMetrics() of its own, with a prefix or a registry of its own.`,
    );
  }
}
