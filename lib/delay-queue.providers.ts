import { Logger, type Provider } from '@nestjs/common';
import { DelayQueueAdmin } from './admin/delay-queue.admin.js';
import type { Broker } from './broker/broker.interface.js';
import { RedisBroker } from './broker/redis/redis.broker.js';
import { SystemClock } from './common/clock.js';
import {
  DELAY_QUEUE_BROKER,
  DELAY_QUEUE_REDIS,
  DELAY_QUEUE_RESOLVED_OPTIONS,
  DELAY_QUEUE_TOPICS,
  LOG_CONTEXT,
} from './delay-queue.constants.js';
import { DelayQueueEvents } from './delay-queue.events.js';
import { MODULE_OPTIONS_TOKEN } from './delay-queue.module-definition.js';
import { DelayQueueScheduler } from './delay-queue.scheduler.js';
import { DelayedHandlerExplorer } from './discovery/delayed-handler.explorer.js';
import type { DelayQueueModuleOptions } from './interfaces/delay-queue-options.interface.js';
import { resolveOptions } from './options/resolve-options.js';
import type { ResolvedOptions } from './options/resolved-options.interface.js';
import { DelayQueueProducer } from './producer/delay-queue.producer.js';
import { TopicRegistry } from './topics/topic.registry.js';

const clock = new SystemClock();

/** The composition root: the one place that names concrete classes below the Nest surface. */
export const providers: Provider[] = [
  {
    provide: DELAY_QUEUE_RESOLVED_OPTIONS,
    useFactory: (options: DelayQueueModuleOptions | undefined) => resolveOptions(options ?? {}),
    inject: [MODULE_OPTIONS_TOKEN],
  },
  {
    provide: DELAY_QUEUE_BROKER,
    useFactory: ({ redis, prefix, publishTimeout }: ResolvedOptions) =>
      new RedisBroker({ redis, prefix, connectTimeout: publishTimeout, clock, log: new Logger(LOG_CONTEXT) }),
    inject: [DELAY_QUEUE_RESOLVED_OPTIONS],
  },
  {
    provide: DELAY_QUEUE_REDIS,
    useFactory: (broker: RedisBroker) => broker.client,
    inject: [DELAY_QUEUE_BROKER],
  },
  {
    provide: DELAY_QUEUE_TOPICS,
    useFactory: (broker: Broker, { topicSettings }: ResolvedOptions) => new TopicRegistry(broker, topicSettings),
    inject: [DELAY_QUEUE_BROKER, DELAY_QUEUE_RESOLVED_OPTIONS],
  },
  {
    provide: DelayQueueProducer,
    useFactory: (store: Broker, topics: TopicRegistry, events: DelayQueueEvents, { publishTimeout }: ResolvedOptions) =>
      new DelayQueueProducer({ store, topics, clock, events, publishTimeout }),
    inject: [DELAY_QUEUE_BROKER, DELAY_QUEUE_TOPICS, DelayQueueEvents, DELAY_QUEUE_RESOLVED_OPTIONS],
  },
  {
    provide: DelayQueueAdmin,
    useFactory: (store: Broker, { publishTimeout: timeout }: ResolvedOptions) =>
      new DelayQueueAdmin({ store, clock, timeout }),
    inject: [DELAY_QUEUE_BROKER, DELAY_QUEUE_RESOLVED_OPTIONS],
  },
  {
    provide: DelayQueueScheduler,
    useFactory: (
      broker: Broker,
      topics: TopicRegistry,
      events: DelayQueueEvents,
      explorer: DelayedHandlerExplorer,
      options: ResolvedOptions,
    ) => new DelayQueueScheduler({ broker, topics, events, explorer, options, clock, log: new Logger(LOG_CONTEXT) }),
    inject: [
      DELAY_QUEUE_BROKER,
      DELAY_QUEUE_TOPICS,
      DelayQueueEvents,
      DelayedHandlerExplorer,
      DELAY_QUEUE_RESOLVED_OPTIONS,
    ],
  },
  DelayQueueEvents,
  DelayedHandlerExplorer,
];
