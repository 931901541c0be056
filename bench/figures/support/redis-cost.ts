import type { Bench } from '../../harness/bench.js';
import type { Measure } from '../figure.js';

/** What {@link withRedisCost} measures, as a column. */
export const REDIS_COST: Measure = {
  key: 'redis',
  label: 'CPU of Redis a message',
  unit: 'µs',
  better: 'less',
  digits: 1,
  incomparable: true,
};

/** Does some work; returns its result, and the CPU time of Redis meanwhile for each of so many messages, in microseconds. */
export async function withRedisCost<T>(
  { redis }: Bench,
  messages: number,
  work: () => Promise<T>,
): Promise<{ result: T; redis: number }> {
  const before = await redis.cpu();
  const result = await work();
  return { result, redis: ((await redis.cpu()) - before) / messages };
}
