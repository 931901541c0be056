import { Redis } from 'ioredis';
import { ConfigurationError } from '../errors/options.errors.js';

/**
 * What is injected in the place of the ioredis client. Providers that only hold it work; whoever uses it hears why that
 * cannot be.
 */
export function noRedis(): object {
  return new Proxy(
    {},
    {
      get(target, property) {
        if (property in target || !(property in Redis.prototype)) return Reflect.get(target, property) as unknown;
        throw new ConfigurationError(
          `DELAY_QUEUE_REDIS has no '${String(property)}': there is no Redis in this test. Override the provider that ` +
            `uses it, or the token itself: overrideProvider(DELAY_QUEUE_REDIS).useValue(…).`,
        );
      },
    },
  );
}
