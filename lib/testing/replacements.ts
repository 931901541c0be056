import type { InjectionToken } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { MODULE_OPTIONS } from '../delay-queue.module-definition.js';
import { schedulerDependencies } from '../delay-queue.providers.js';
import { tokensOf } from '../delay-queue.tokens.js';
import { DeadLetterHookExplorer } from '../discovery/dead-letter-hook.explorer.js';
import { DelayedHandlerExplorer } from '../discovery/delayed-handler.explorer.js';
import type { DelayQueueModuleOptions } from '../interfaces/delay-queue-options.interface.js';
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

/** All that tells a connection in a test from one to a Redis. */
export function replacementsOf(connection: string): Replacement[] {
  const { options, clock, broker, redis, scheduler, parts } = tokensOf(connection);
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
      inject: [parts, DelayedHandlerExplorer, DeadLetterHookExplorer, DiscoveryService],
      make: ({ time }, ...injected: Parameters<typeof schedulerDependencies>) =>
        new TestingScheduler(schedulerDependencies(...injected), time),
    },
  ];
}
