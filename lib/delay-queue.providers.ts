import { Logger, type InjectionToken, type Provider } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { DelayQueueAdmin } from './admin/delay-queue.admin.js';
import type { Broker } from './broker/broker.interface.js';
import { RedisBroker } from './broker/redis/redis.broker.js';
import { type Clock, SystemClock } from './common/clock.js';
import { LOG_CONTEXT } from './delay-queue.constants.js';
import { DelayQueueEvents } from './delay-queue.events.js';
import { DelayQueueScheduler, type SchedulerDependencies } from './delay-queue.scheduler.js';
import { tokensOf } from './delay-queue.tokens.js';
import { DeadLetterHookExplorer } from './discovery/dead-letter-hook.explorer.js';
import { DelayedHandlerExplorer } from './discovery/delayed-handler.explorer.js';
import type { DelayQueueModuleOptions } from './interfaces/delay-queue-options.interface.js';
import { resolveOptions } from './options/resolve-options.js';
import type { ResolvedOptions } from './options/resolved-options.interface.js';
import { HandlerFactory } from './pipeline/handler-factory.js';
import { DelayQueueProducer } from './producer/delay-queue.producer.js';
import { TopicRegistry } from './topics/topic.registry.js';

/** What producer, admin and scheduler of a module have in common. */
export interface QueueParts {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly events: DelayQueueEvents;
  readonly options: ResolvedOptions;
  readonly topics: TopicRegistry;
}

/**
 * The composition root: the one place that names concrete classes below the Nest surface.
 *
 * @param givenOptions token of the options as the application gave them
 */
export function connectionProviders(connection: string, givenOptions: InjectionToken): Provider[] {
  const tokens = tokensOf(connection);
  return [
    {
      provide: tokens.options,
      useFactory: (options: DelayQueueModuleOptions | undefined) => resolveOptions(options ?? {}, connection),
      inject: [givenOptions],
    },
    {
      provide: tokens.clock,
      useFactory: () => new SystemClock(),
    },
    {
      provide: tokens.broker,
      useFactory: ({ redis, prefix, publishTimeout }: ResolvedOptions, clock: Clock) =>
        new RedisBroker({ redis, prefix, connectTimeout: publishTimeout, clock, log: new Logger(LOG_CONTEXT) }),
      inject: [tokens.options, tokens.clock],
    },
    {
      provide: tokens.redis,
      useFactory: (broker: RedisBroker) => broker.client,
      inject: [tokens.broker],
    },
    {
      provide: tokens.events,
      useFactory: () => new DelayQueueEvents(),
    },
    {
      provide: tokens.parts,
      useFactory: (broker: Broker, clock: Clock, events: DelayQueueEvents, options: ResolvedOptions): QueueParts => ({
        broker,
        clock,
        events,
        options,
        topics: new TopicRegistry(broker, options.topicSettings),
      }),
      inject: [tokens.broker, tokens.clock, tokens.events, tokens.options],
    },
    {
      provide: tokens.producer,
      useFactory: ({ broker, options: { publishTimeout, middleware }, ...parts }: QueueParts) =>
        new DelayQueueProducer({ store: broker, publishTimeout, middleware, ...parts }),
      inject: [tokens.parts],
    },
    {
      provide: tokens.admin,
      useFactory: ({ broker, clock, options }: QueueParts) =>
        new DelayQueueAdmin({ store: broker, clock, timeout: options.publishTimeout }),
      inject: [tokens.parts],
    },
    {
      provide: tokens.scheduler,
      useFactory: (...injected: Parameters<typeof schedulerDependencies>) =>
        new DelayQueueScheduler(schedulerDependencies(...injected)),
      inject: [tokens.parts, DelayedHandlerExplorer, DeadLetterHookExplorer, DiscoveryService],
    },
    DelayedHandlerExplorer,
    DeadLetterHookExplorer,
    HandlerFactory,
  ];
}

export function schedulerDependencies(
  parts: QueueParts,
  explorer: DelayedHandlerExplorer,
  hookExplorer: DeadLetterHookExplorer,
  discovery: DiscoveryService,
): SchedulerDependencies {
  return { ...parts, explorer, hookExplorer, discovery, log: new Logger(LOG_CONTEXT) };
}
