import { type Registry, register } from 'prom-client';
import { ConfigurationError } from '../errors/options.errors.js';
import type { BackgroundErrorSource, MissedEvent } from '../events/queue-events.interface.js';
import type {
  DelayQueueMetrics,
  HandleOutcome,
  MetricsReading,
  PublishOutcome,
} from '../monitoring/delay-queue-metrics.interface.js';
import { type Instruments, createInstruments, listInstruments, showReadings } from './instruments.js';
import { type CheckedOptions, type PrometheusMetricsOptions, checkOptions } from './prometheus-options.js';

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
