import { RedisBroker, type RedisBrokerOptions } from './redis.broker.js';

/**
 * Makes a broker on Redis. ioredis is loaded only now: a test with a broker in memory never waits for it, and importing the
 * library takes a third of the time.
 */
export async function createRedisBroker(options: Omit<RedisBrokerOptions, 'ioredis'>): Promise<RedisBroker> {
  // So that webpack, and what is built on it, keeps everything in one file.
  const ioredis = await import(/* webpackMode: "eager" */ 'ioredis');
  return new RedisBroker({ ioredis, ...options });
}
