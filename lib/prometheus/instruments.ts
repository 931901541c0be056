import { type Aggregator, Counter, Gauge, Histogram, type Metric } from 'prom-client';
import type { MetricsReading, TopicBacklog, TopicConsumption } from '../monitoring/delay-queue-metrics.interface.js';
import type { CheckedOptions } from './prometheus-options.js';

export type Instruments = ReturnType<typeof createInstruments>;

/**
 * Makes the metrics without registering them.
 *
 * @param collect called before a gauge is read
 */
export function createInstruments({ prefix, buckets }: CheckedOptions, collect: () => Promise<void>) {
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
        'For how long what the limits of the topic permit was over before it could be used; 0 if it is not.',
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
export function listInstruments({ consumption, backlog, ...others }: Instruments): Metric[] {
  return [...Object.values(others), ...Object.values(consumption), ...Object.values(backlog)] as Metric[];
}

/** Sets every gauge to what was read, by one module or several of the same connection. A gauge shows only what was read. */
export function showReadings(instruments: Instruments, readings: readonly MetricsReading[]): void {
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
