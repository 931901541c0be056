import type { ContenderName } from '../../contenders/contender.js';
import type { LoadOptions } from '../../client/roles/load.js';
import type { Bench } from '../../harness/bench.js';
import { Consumption } from '../../harness/consumption.js';
import { PARTITIONS, TOPIC } from '../../sizes.js';
import type { Measure, Sample } from '../figure.js';
import { REDIS_COST } from './redis-cost.js';

export const LATENESS_MEASURES: readonly Measure[] = [
  { key: 'p99', label: 'p99', unit: 'ms', better: 'less', digits: 1 },
  { key: 'p50', label: 'p50', unit: 'ms', better: 'less', digits: 1 },
  { key: 'max', label: 'max', unit: 'ms', better: 'less', digits: 1 },
  { key: 'early', label: 'early', unit: '', better: 'less', digits: 0, incomparable: true },
];

export const COST_MEASURES: readonly Measure[] = [
  { ...REDIS_COST, label: 'Redis', digits: 0 },
  { key: 'process', label: 'process', unit: 'µs', better: 'less', digits: 0 },
];

/** Messages that each contender publishes per millisecond, even on a slow machine. */
const PUBLISHED_AT_LEAST: Readonly<Record<ContenderName, number>> = {
  'nestjs-delay-queue': 30,
  BullMQ: 10,
  'bee-queue': 25,
  'bare scripts': 30,
};

/** Milliseconds within which a contender has published this many messages. */
export function leadFor(contender: ContenderName, messages: number): number {
  return 1500 + messages / PUBLISHED_AT_LEAST[contender];
}

export interface LatenessOptions extends Pick<LoadOptions, 'messages' | 'lead' | 'step' | 'ahead'> {
  readonly concurrency: number;
  readonly warmUp: number;
  /** How many more messages fall due before these, in the same way, but do not count. @defaultValue 0 */
  readonly leadIn?: number;
}

/** Publishes messages that fall due while one process consumes. What Redis needs counts from the first of those that count. */
export async function lateness(
  bench: Bench,
  contender: ContenderName,
  { concurrency, warmUp, leadIn = 0, messages: counted, ...load }: LatenessOptions,
): Promise<Sample> {
  const queue = { topics: [TOPIC], partitions: PARTITIONS };
  const consumption = await Consumption.start(bench, contender, { ...queue, concurrency, warmUp, leadIn });
  const messages = leadIn + counted;
  const ledIn = consumption.reached(leadIn).then(async (handled) => ({ handled, cpu: await bench.redis.cpu() }));
  const [before] = await Promise.all([ledIn, bench.run(contender, 'load', { ...queue, ...load, messages })]);
  const [result] = await consumption.finish(messages);
  if (!result) throw new Error('No process consumed.');
  const redis = ((await bench.redis.cpu()) - before.cpu) / (messages - before.handled);
  return { ...result.lateness, redis, process: result.cpu };
}
