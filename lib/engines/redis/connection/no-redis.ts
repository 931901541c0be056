import { ConfigurationError } from '../../../errors/options.errors.js';
import { loadIoRedis } from './redis-clients.js';

/**
 * Is injected in the place of the ioredis client where there is no Redis. Providers that only hold it work; those that use it get an error
 * that says why that is not possible.
 *
 * @param why as a sentence
 */
export async function noRedis(why: string): Promise<object> {
  const { Redis } = await loadIoRedis();
  return new Proxy(
    {},
    {
      get(target, property) {
        if (property in target || !(property in Redis.prototype)) return Reflect.get(target, property) as unknown;
        throw new ConfigurationError(`DELAY_QUEUE_REDIS has no '${String(property)}': ${why}`);
      },
    },
  );
}
