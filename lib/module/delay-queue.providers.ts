import { hostname } from 'node:os';
import { Logger, type InjectionToken, type Provider } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { v7 as uuidv7 } from 'uuid';
import { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { Broker } from '../broker/broker.interface.js';
import { type RedisBroker, createRedisBroker } from '../broker/redis/redis.broker.js';
import { type Clock, SystemClock } from '../time/clock.js';
import { LOG_CONTEXT } from '../decorators/delay-queue.constants.js';
import { patienceOf } from '../topics/progress.js';
import { DelayQueueEvents } from '../events/delay-queue.events.js';
import { DelayQueueScheduler, type SchedulerDependencies } from './delay-queue.scheduler.js';
import { tokensOf } from '../decorators/delay-queue.tokens.js';
import { DeadLetterHookExplorer } from '../handlers/dead-letter-hook.explorer.js';
import { DelayedHandlerExplorer } from '../handlers/delayed-handler.explorer.js';
import { DelayQueueHealth } from '../monitoring/delay-queue.health.js';
import { FLEET_KINDS } from '../events/fleet-codec.js';
import { FleetPublisher } from '../events/fleet-publisher.js';
import { FleetReader } from '../events/fleet-reader.js';
import type { DelayQueueModuleOptions } from '../connection/delay-queue-options.interface.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';
import { HarmlessMetrics } from '../monitoring/harmless-metrics.js';
import { countPublishes } from '../monitoring/publish-counter.js';
import { resolveOptions } from '../connection/resolve-options.js';
import type { ResolvedOptions } from '../connection/resolved-options.interface.js';
import { HandlerFactory } from '../handlers/handler-factory.js';
import { DelayQueueProducer } from '../producer/delay-queue.producer.js';
import { TopicRegistry } from '../topics/topic.registry.js';
import { UnhandledTopics } from '../topics/unhandled-topics.js';
import { VERSION } from '../version.js';

/** What producer, admin and scheduler of a module have in common. */
export interface QueueParts {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly events: DelayQueueEvents;
  readonly options: ResolvedOptions;
  readonly topics: TopicRegistry;
  readonly unhandled: UnhandledTopics;
  /** `undefined`: nothing is measured. */
  readonly metrics: DelayQueueMetrics | undefined;
  /** Names this process among the members of every topic, and in what it tells the fleet. */
  readonly member: string;
  readonly fleetPublisher: FleetPublisher | undefined;
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
      provide: tokens.version,
      useValue: VERSION,
    },
    {
      provide: tokens.clock,
      useFactory: () => new SystemClock(),
    },
    {
      provide: tokens.broker,
      useFactory: async (
        { redis, prefix, publishTimeout }: ResolvedOptions,
        clock: Clock,
        metrics: DelayQueueMetrics | undefined,
      ) =>
        createRedisBroker({
          redis,
          prefix,
          connectTimeout: publishTimeout,
          clock,
          log: new Logger(LOG_CONTEXT),
          onScript: metrics && ((name, duration) => metrics.observeScript(name, duration / 1000)),
        }),
      inject: [tokens.options, tokens.clock, tokens.metrics],
    },
    {
      provide: tokens.redis,
      useFactory: (broker: RedisBroker) => broker.client,
      inject: [tokens.broker],
    },
    {
      provide: tokens.events,
      useFactory: (broker: Broker) => {
        const reader = new FleetReader(broker.eventLog, (error) => events.emit('errors', { source: 'fleet', error }));
        const events = new DelayQueueEvents((next) => reader.follow(next));
        broker.onError((error) => events.emit('errors', { source: 'connection', error }));
        return events;
      },
      inject: [tokens.broker],
    },
    {
      provide: tokens.metrics,
      useFactory: ({ metrics }: ResolvedOptions) => metrics && new HarmlessMetrics(metrics, new Logger(LOG_CONTEXT)),
      inject: [tokens.options],
    },
    {
      provide: tokens.parts,
      useFactory: (
        broker: Broker,
        clock: Clock,
        events: DelayQueueEvents,
        options: ResolvedOptions,
        metrics: DelayQueueMetrics | undefined,
      ): QueueParts => {
        const member = `${hostname()}:${process.pid}:${uuidv7()}`;
        return {
          broker,
          clock,
          events,
          options,
          member,
          topics: new TopicRegistry(broker, options.topicSettings),
          unhandled: new UnhandledTopics({ store: broker, clock, events, log: new Logger(LOG_CONTEXT) }),
          metrics,
          fleetPublisher:
            options.fleetEvents && fleetPublisher({ broker, clock, events, member, ...options.fleetEvents }),
        };
      },
      inject: [tokens.broker, tokens.clock, tokens.events, tokens.options, tokens.metrics],
    },
    {
      provide: tokens.producer,
      useFactory: ({ broker, options: { publishTimeout, middleware }, metrics, ...parts }: QueueParts) =>
        new DelayQueueProducer({
          store: broker,
          publishTimeout,
          middleware,
          onFailed: metrics && countPublishes(metrics, parts.events),
          onSent: (topic) => parts.unhandled.published(topic),
          ...parts,
        }),
      inject: [tokens.parts],
    },
    {
      provide: tokens.admin,
      useFactory: ({ broker, clock, options }: QueueParts) =>
        new DelayQueueAdmin({
          broker,
          clock,
          timeout: options.publishTimeout,
          serializerOf: (topic) => options.topicSettings(topic).serializer,
        }),
      inject: [tokens.parts],
    },
    {
      provide: tokens.schedulerDependencies,
      useFactory: (
        parts: QueueParts,
        explorer: DelayedHandlerExplorer,
        hookExplorer: DeadLetterHookExplorer,
        discovery: DiscoveryService,
      ): SchedulerDependencies => ({ ...parts, explorer, hookExplorer, discovery, log: new Logger(LOG_CONTEXT) }),
      inject: [tokens.parts, DelayedHandlerExplorer, DeadLetterHookExplorer, DiscoveryService],
    },
    {
      provide: tokens.scheduler,
      useFactory: (dependencies: SchedulerDependencies) => new DelayQueueScheduler(dependencies),
      inject: [tokens.schedulerDependencies],
    },
    {
      provide: tokens.health,
      useFactory: ({ broker, clock, topics, unhandled, options }: QueueParts, scheduler: DelayQueueScheduler) =>
        new DelayQueueHealth({
          broker,
          clock,
          topics,
          unhandled,
          configured: options.topics,
          progress: () => scheduler.progress,
          patience: patienceOf(options.consumer?.heartbeat ?? 0),
        }),
      inject: [tokens.parts, tokens.scheduler],
    },
    DelayedHandlerExplorer,
    DeadLetterHookExplorer,
    HandlerFactory,
  ];
}

function fleetPublisher({
  broker,
  clock,
  events,
  member,
  maxLength,
}: Pick<QueueParts, 'broker' | 'clock' | 'events' | 'member'> & { readonly maxLength: number }): FleetPublisher {
  const publisher = new FleetPublisher({
    log: new Logger(LOG_CONTEXT),
    clock,
    events,
    eventLog: broker.eventLog,
    now: () => broker.now(),
    process: member,
    maxLength,
  });
  for (const kind of FLEET_KINDS) events.tap(kind, (event) => publisher.add(kind, event));
  return publisher;
}
