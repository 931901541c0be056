import type { InjectionToken } from '@nestjs/common';
import { DelayQueueAdmin } from './admin/delay-queue.admin.js';
import { DEFAULT_CONNECTION, optionsToken } from './delay-queue.constants.js';
import { DelayQueueEvents } from './delay-queue.events.js';
import { DelayQueueScheduler } from './delay-queue.scheduler.js';
import { DelayQueueHealth } from './health/delay-queue.health.js';
import { DelayQueueProducer } from './producer/delay-queue.producer.js';

/** Injection token of the ioredis client that the module sends its commands through. */
export const DELAY_QUEUE_REDIS = Symbol('DELAY_QUEUE_REDIS');

/** What a module provides, and under which tokens. */
export interface ConnectionTokens {
  readonly producer: InjectionToken;
  readonly admin: InjectionToken;
  readonly events: InjectionToken;
  readonly health: InjectionToken;
  readonly redis: InjectionToken;
  readonly scheduler: InjectionToken;
  readonly broker: InjectionToken;
  readonly clock: InjectionToken;
  /** The options with all defaults filled in. */
  readonly options: InjectionToken;
  /** Where to tell metrics; nothing where the options name none. */
  readonly metrics: InjectionToken;
  /** What the first three are made of. */
  readonly parts: InjectionToken;
}

const DEFAULT_TOKENS: ConnectionTokens = {
  producer: DelayQueueProducer,
  admin: DelayQueueAdmin,
  events: DelayQueueEvents,
  health: DelayQueueHealth,
  redis: DELAY_QUEUE_REDIS,
  scheduler: DelayQueueScheduler,
  broker: Symbol('DELAY_QUEUE_BROKER'),
  clock: Symbol('DELAY_QUEUE_CLOCK'),
  options: optionsToken(DEFAULT_CONNECTION),
  metrics: Symbol('DELAY_QUEUE_METRICS'),
  parts: Symbol('DELAY_QUEUE_PARTS'),
};

/** The tokens of a connection. Those of a named one are strings, so that Nest's messages show what is missing. */
export function tokensOf(connection: string): ConnectionTokens {
  if (connection === DEFAULT_CONNECTION) return DEFAULT_TOKENS;
  return {
    producer: `DelayQueueProducer(${connection})`,
    admin: `DelayQueueAdmin(${connection})`,
    events: `DelayQueueEvents(${connection})`,
    health: `DelayQueueHealth(${connection})`,
    redis: `DELAY_QUEUE_REDIS(${connection})`,
    scheduler: `DelayQueueScheduler(${connection})`,
    broker: `DELAY_QUEUE_BROKER(${connection})`,
    clock: `DELAY_QUEUE_CLOCK(${connection})`,
    options: optionsToken(connection),
    metrics: `DELAY_QUEUE_METRICS(${connection})`,
    parts: `DELAY_QUEUE_PARTS(${connection})`,
  };
}
