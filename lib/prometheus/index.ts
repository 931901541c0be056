// Metrics for Prometheus, `nestjs-delay-queue/prometheus`: what is not named here may change at any time.

export { prometheusMetrics } from './prometheus-metrics.js';
export type { PrometheusBuckets, PrometheusMetricsOptions } from './prometheus-options.js';
