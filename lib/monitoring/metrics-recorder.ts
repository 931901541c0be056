import type { Observable, Subscription } from 'rxjs';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { NotReplicatedError } from '../errors/publishing.errors.js';
import { DelayQueueError } from '../errors/delay-queue.error.js';
import type { Startable } from '../time/startable.interface.js';
import type { EndedDelivery, QueueEvents } from '../events/queue-events.interface.js';
import type { DelayQueueMetrics, HandleOutcome, PublishOutcome } from './delay-queue-metrics.interface.js';
import type { MetricsReader } from './metrics-reader.js';
import type { Log } from '../log.js';

/** Keeps metrics that throw from harming the work: their first error is logged, and none has any other effect. */
export class HarmlessMetrics implements DelayQueueMetrics {
  readonly #metrics: DelayQueueMetrics;
  readonly #log: Log;
  #failed = false;

  constructor(metrics: DelayQueueMetrics, log: Log) {
    this.#metrics = metrics;
    this.#log = log;
  }

  countPublished(...args: Parameters<DelayQueueMetrics['countPublished']>): void {
    this.#try(() => this.#metrics.countPublished(...args));
  }

  countHandled(...args: Parameters<DelayQueueMetrics['countHandled']>): void {
    this.#try(() => this.#metrics.countHandled(...args));
  }

  countMissed(...args: Parameters<DelayQueueMetrics['countMissed']>): void {
    this.#try(() => this.#metrics.countMissed(...args));
  }

  countError(...args: Parameters<DelayQueueMetrics['countError']>): void {
    this.#try(() => this.#metrics.countError(...args));
  }

  observeLateness(...args: Parameters<DelayQueueMetrics['observeLateness']>): void {
    this.#try(() => this.#metrics.observeLateness(...args));
  }

  observeHandler(...args: Parameters<DelayQueueMetrics['observeHandler']>): void {
    this.#try(() => this.#metrics.observeHandler(...args));
  }

  observeScript(...args: Parameters<DelayQueueMetrics['observeScript']>): void {
    this.#try(() => this.#metrics.observeScript(...args));
  }

  /** Throws the errors of the metrics: if they cannot work, the boot has to fail. */
  open(...args: Parameters<DelayQueueMetrics['open']>): () => void {
    return this.#metrics.open(...args);
  }

  #try(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      if (this.#failed) return;
      this.#failed = true;
      this.#log.error(`The metrics failed, this is logged once: ${(error as Error).message}`, (error as Error).stack);
    }
  }
}

/** Kinds of events that are counted. */
type CountedKind = 'delivered' | 'missed' | 'errors' | HandleOutcome;

/** Kinds of events that end a delivery whose outcome took effect. */
const ENDS = [
  'acked',
  'retried',
  'dead',
  'cancelled',
  'replaced',
  'released',
] as const satisfies readonly HandleOutcome[];

export interface MetricsRecorderOptions {
  readonly metrics: DelayQueueMetrics;
  /** Name of the connection. */
  readonly connection: string;
  readonly events: { readonly [K in CountedKind]: Observable<QueueEvents[K]> };
  readonly reader: MetricsReader;
}

/** Reports the work of this process to the metrics, and lets them take readings of the gauges. */
export class MetricsRecorder implements Startable {
  readonly #options: MetricsRecorderOptions;
  #subscriptions: Subscription[] | undefined;
  #close: (() => void) | undefined;

  constructor(options: MetricsRecorderOptions) {
    this.#options = options;
  }

  /** @throws ConfigurationError if the metrics cannot work with this connection */
  start(): void {
    if (this.#subscriptions) return;
    const { metrics, connection, events, reader } = this.#options;
    this.#close = metrics.open(connection, async () => reader.read());
    this.#subscriptions = [
      events.delivered.subscribe(({ topic, lateness }) => metrics.observeLateness(topic, seconds(lateness))),
      ...ENDS.map((kind) =>
        (events[kind] as Observable<EndedDelivery>).subscribe(({ topic, duration }) => {
          metrics.countHandled(topic, kind);
          // It is 0 if the handler was not called.
          if (duration > 0) metrics.observeHandler(topic, seconds(duration));
        }),
      ),
      events.stale.subscribe(({ topic }) => metrics.countHandled(topic, 'stale')),
      events.missed.subscribe(({ topic, reason, occurrences }) => metrics.countMissed(topic, reason, occurrences)),
      events.errors.subscribe(({ source }) => metrics.countError(source)),
    ];
  }

  stop(): void {
    for (const subscription of this.#subscriptions ?? []) subscription.unsubscribe();
    this.#subscriptions = [];
    this.#close?.();
    this.#close = undefined;
  }
}

/**
 * Counts the outcomes of publishes: successful ones by their events; failed ones have none, so they are reported.
 *
 * @returns a function to call for messages that were not published, with the reason
 */
export function countPublishes(
  metrics: Pick<DelayQueueMetrics, 'countPublished'>,
  events: { readonly published: Observable<QueueEvents['published']> },
): (topic: string, error: unknown, messages: number) => void {
  events.published.subscribe(({ topic, duplicate }) =>
    metrics.countPublished(topic, duplicate ? 'duplicate' : 'created'),
  );
  return (topic, error, messages) => {
    const outcome = failureOf(error);
    for (let i = 0; i < messages; i++) metrics.countPublished(topic, outcome);
  };
}

/** With all errors of the library but these two it is certain that nothing was stored. */
function failureOf(error: unknown): PublishOutcome {
  const isUnknown = error instanceof BrokerUnavailableError || error instanceof NotReplicatedError;
  return error instanceof DelayQueueError && !isUnknown ? 'refused' : 'failed';
}

/** The estimate of Redis's clock can make a lateness slightly negative, which a histogram does not accept. */
function seconds(milliseconds: number): number {
  return Math.max(0, milliseconds) / 1000;
}
