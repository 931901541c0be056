import type { Observable, Subscription } from 'rxjs';
import type { Startable } from '../time/startable.interface.js';
import type { EndedDelivery, QueueEvents } from '../events/queue-events.interface.js';
import type { DelayQueueMetrics, HandleOutcome } from './delay-queue-metrics.interface.js';
import type { MetricsReader } from './metrics-reader.js';

/** The kinds of events that are counted. */
type CountedKind = 'delivered' | 'errors' | HandleOutcome;

/** Kinds of events that a delivery ends with where its outcome took effect. */
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
      ...ENDS.map((kind) =>
        (events[kind] as Observable<EndedDelivery>).subscribe(({ topic, duration }) => {
          metrics.countHandled(topic, kind);
          // Nothing where the handler was not called.
          if (duration > 0) metrics.observeHandler(topic, seconds(duration));
        }),
      ),
      events.stale.subscribe(({ topic }) => metrics.countHandled(topic, 'stale')),
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

/** The estimate of Redis's clock may make a lateness a hair less than nothing, which no histogram can sum up. */
function seconds(milliseconds: number): number {
  return Math.max(0, milliseconds) / 1000;
}
