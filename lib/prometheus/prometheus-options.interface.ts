import type { Registry } from 'prom-client';

/**
 * Upper bounds of histogram buckets, in seconds, ascending; without the last one, which is infinite.
 *
 * @publicApi
 */
export interface PrometheusBuckets {
  /** Of the time from when a message is due until it is handed to its handler. @defaultValue 1 ms to 1 h */
  lateness?: readonly number[];
  /** Of the running time of handlers. @defaultValue 1 ms to 10 min */
  handler?: readonly number[];
  /** Of the round trip of a script. @defaultValue 0.25 ms to 5 s */
  script?: readonly number[];
}

/**
 * Options of {@link prometheusMetrics}.
 *
 * @publicApi
 */
export interface PrometheusMetricsOptions {
  /** Where the metrics are registered while the application runs. @defaultValue the default registry of prom-client */
  registry?: Registry;
  /** First part of every metric's name. @defaultValue 'delay_queue_' */
  prefix?: string;
  /** Bounds of the histograms. @defaultValue the library's own */
  buckets?: PrometheusBuckets;
}
