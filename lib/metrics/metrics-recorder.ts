import type { Observable, Subscription } from 'rxjs';
import type { Startable } from '../common/startable.interface.js';
import type { QueueEvents } from '../events/queue-events.interface.js';
import type { DelayQueueMetrics, HandleOutcome } from './delay-queue-metrics.interface.js';
import type { MetricsReader } from './metrics-reader.js';

/** The kinds of events that are counted. */
type CountedKind = 'delivered' | HandleOutcome;

export interface MetricsRecorderOptions {
  readonly metrics: DelayQueueMetrics;
  /** Name of the connection. */
  readonly connection: string;
  readonly events: { readonly [K in CountedKind]: Observable<QueueEvents[K]> };
  readonly reader: MetricsReader;
}

/** Tells the metrics what this process does, and lets them take readings. */
export class MetricsRecorder implements Startable {
  readonly #options: MetricsRecorderOptions;
  #subscriptions: Subscription[] | undefined;
  #close: (() => void) | undefined;

  constructor(options: MetricsRecorderOptions) {
    this.#options = options;
  }

  /** @throws ConfigurationError where the metrics cannot work with this connection */
  start(): void {
    if (this.#subscriptions) return;
    const { metrics, connection, events, reader } = this.#options;
    this.#close = metrics.open(connection, async () => reader.read());
    this.#subscriptions = [
      events.delivered.subscribe(({ topic, lateness }) => metrics.observeLateness(topic, seconds(lateness))),
      events.acked.subscribe(({ topic, duration }) => {
        metrics.countHandled(topic, 'acked');
        metrics.observeHandler(topic, seconds(duration));
      }),
      events.retried.subscribe(({ topic }) => metrics.countHandled(topic, 'retried')),
      events.dead.subscribe(({ topic }) => metrics.countHandled(topic, 'dead')),
      events.stale.subscribe(({ topic }) => metrics.countHandled(topic, 'stale')),
    ];
  }

  stop(): void {
    for (const subscription of this.#subscriptions ?? []) subscription.unsubscribe();
    this.#subscriptions = [];
    this.#close?.();
    this.#close = undefined;
  }
}

/** The estimate of Redis's clock may make a lateness a hair less than nothing, which no histogram can sum up. */
function seconds(milliseconds: number): number {
  return Math.max(0, milliseconds) / 1000;
}
