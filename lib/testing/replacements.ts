import type { InjectionToken } from '@nestjs/common';
import { MODULE_OPTIONS } from '../module/delay-queue.module-definition.js';
import type { SchedulerDependencies } from '../module/delay-queue.scheduler.js';
import { tokensOf } from '../decorators/delay-queue.tokens.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { DelayQueueModuleOptions } from '../connection/delay-queue-options.interface.js';
import { VERSION } from '../version.js';
import { noRedis } from './no-redis.js';
import type { TestBackend } from './test-backend.js';
import { testingOptions } from './testing-options.js';
import { TestingScheduler } from './testing.scheduler.js';

/** A provider of a connection that is another one in tests. */
export interface Replacement {
  readonly token: InjectionToken;
  readonly inject: readonly InjectionToken[];
  readonly make: (backend: TestBackend, ...injected: never[]) => unknown;
}

/**
 * All that tells a connection in a test from one to a Redis. The module may be of another copy of this package than the testing
 * kit, since the tokens are the same; but not of another version, whose parts may need something else of each other.
 */
export function replacementsOf(connection: string): Replacement[] {
  const { version } = tokensOf(connection);
  return replacements(connection).map(({ token, inject, make }) => ({
    token,
    inject: [version, ...inject],
    make: (backend, ...[given, ...injected]: never[]) => {
      assertSameVersion(given);
      return make(backend, ...injected);
    },
  }));
}

function assertSameVersion(given: unknown): void {
  if (given === VERSION) return;
  throw new ConfigurationError(
    `The testing kit is that of nestjs-delay-queue ${VERSION}, and the application imports DelayQueueModule of ` +
      `${String(given)}. Install one version for both: 'npm ls nestjs-delay-queue' shows where they come from.`,
  );
}

function replacements(connection: string): Replacement[] {
  const { options, clock, broker, redis, scheduler, schedulerDependencies } = tokensOf(connection);
  return [
    {
      token: options,
      inject: [MODULE_OPTIONS],
      make: (backend, given: DelayQueueModuleOptions | undefined) => {
        const resolved = testingOptions(given ?? {}, connection);
        backend.serves(resolved);
        return resolved;
      },
    },
    { token: clock, inject: [], make: ({ time }) => time.clock },
    { token: broker, inject: [], make: ({ broker: memory }) => memory },
    { token: redis, inject: [], make: () => noRedis() },
    {
      token: scheduler,
      inject: [schedulerDependencies],
      make: ({ time }, dependencies: SchedulerDependencies) => new TestingScheduler(dependencies, time),
    },
  ];
}
