import type { DelayQueueMetrics, MetricsReading } from '../../../lib/monitoring/delay-queue-metrics.interface.js';

/** Metrics that record their calls. */
export function recordedMetrics() {
  const told: unknown[][] = [];
  const opened: { connection: string; read: () => Promise<MetricsReading>; closed: boolean }[] = [];
  const note =
    (name: string) =>
    (...args: unknown[]): void =>
      void told.push([name, ...args]);
  const metrics: DelayQueueMetrics = {
    countPublished: note('countPublished'),
    countHandled: note('countHandled'),
    countMissed: note('countMissed'),
    countError: note('countError'),
    observeLateness: note('observeLateness'),
    observeHandler: note('observeHandler'),
    observeScript: note('observeScript'),
    open: (connection, read) => {
      const one = { connection, read, closed: false };
      opened.push(one);
      return () => {
        one.closed = true;
      };
    },
  };
  return { metrics, told, opened };
}
