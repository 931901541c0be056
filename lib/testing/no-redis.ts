import { Redis } from 'ioredis';
import { ConfigurationError } from '../errors/options.errors.js';

/**
 * Is injected instead of the ioredis client. Providers that only hold it work; those that use it get an error that says why
 * that is not possible.
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
