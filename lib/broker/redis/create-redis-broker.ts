import type { RedisBroker, RedisBrokerOptions } from './redis.broker.js';

/**
 * Makes a broker on Redis. What it takes, ioredis above all, is loaded only now: a test with a broker in memory never waits for
 * it, and importing the library costs a third of the time.
 */
export async function createRedisBroker(options: RedisBrokerOptions): Promise<RedisBroker> {
  // So that webpack, and what is built on it, keeps everything in one file.
  const module = await import(/* webpackMode: "eager" */ './redis.broker.js');
  return new module.RedisBroker(options);
}
