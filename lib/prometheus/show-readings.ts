import type { MetricsReading, TopicBacklog } from '../monitoring/delay-queue-metrics.interface.js';
import type { Instruments } from './instruments.js';

/** Sets every gauge to what was read, by one module or several of the same connection. What was not read is not shown. */
export function showReadings(instruments: Instruments, readings: readonly MetricsReading[]): void {
  const { up, clockOffset, inFlight, ownedPartitions, backlog } = instruments;
  for (const gauge of [inFlight, ownedPartitions, ...Object.values(backlog)]) gauge.reset();
  up.set(readings.every((reading) => reading.up) ? 1 : 0);
  for (const reading of readings) {
    clockOffset.set(reading.clockOffset);
    for (const topic of reading.topics) {
      const labels = { topic: topic.topic };
      if (topic.consumed) {
        inFlight.set(labels, topic.consumed.inFlight);
        ownedPartitions.set(labels, topic.consumed.ownedPartitions);
      }
      if (!topic.backlog) continue;
      for (const [name, value] of Object.entries(topic.backlog)) backlog[name as keyof TopicBacklog].set(labels, value);
    }
  }
}
