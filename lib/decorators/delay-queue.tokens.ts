import type { ExistingProvider, InjectionToken } from '@nestjs/common';
import { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import { twinsOf } from '../copies.js';
import { DEFAULT_CONNECTION, optionsToken, schedulerToken } from './delay-queue.constants.js';
import { DelayQueueEvents } from '../events/delay-queue.events.js';
import { DelayQueueHealth } from '../monitoring/delay-queue.health.js';
import { DelayQueueProducer } from '../producer/delay-queue.producer.js';

/** Injection token of the ioredis client that the module sends its commands through. */
export const DELAY_QUEUE_REDIS = Symbol.for('nestjs-delay-queue.DELAY_QUEUE_REDIS');

/**
 * What a module provides, and under which tokens. All but the classes are the same in every copy of this package, so that one
 * copy can replace, inject and look up what another one provides.
 */
export interface ConnectionTokens {
  readonly producer: InjectionToken;
  readonly admin: InjectionToken;
  readonly events: InjectionToken;
  readonly health: InjectionToken;
  readonly redis: InjectionToken;
  readonly scheduler: InjectionToken;
  /** What the scheduler is made of. */
  readonly schedulerDependencies: InjectionToken;
  readonly broker: InjectionToken;
  readonly clock: InjectionToken;
  /** The options with all defaults filled in. */
  readonly options: InjectionToken;
  /** Where to tell metrics; nothing where the options name none. */
  readonly metrics: InjectionToken;
  /** What producer, admin and health are made of. */
  readonly parts: InjectionToken;
  /** The version of the copy of this package that the module is of. */
  readonly version: InjectionToken;
}

/** What is public of a connection without a name has the class as its token; the rest has strings, which Nest's messages show. */
export function tokensOf(connection: string): ConnectionTokens {
  const tokens = {
    scheduler: schedulerToken(connection),
    schedulerDependencies: `DELAY_QUEUE_SCHEDULER_DEPENDENCIES(${connection})`,
    broker: `DELAY_QUEUE_BROKER(${connection})`,
    clock: `DELAY_QUEUE_CLOCK(${connection})`,
    options: optionsToken(connection),
    metrics: `DELAY_QUEUE_METRICS(${connection})`,
    parts: `DELAY_QUEUE_PARTS(${connection})`,
    version: `DELAY_QUEUE_VERSION(${connection})`,
  };
  if (connection === DEFAULT_CONNECTION) {
    return {
      ...tokens,
      producer: DelayQueueProducer,
      admin: DelayQueueAdmin,
      events: DelayQueueEvents,
      health: DelayQueueHealth,
      redis: DELAY_QUEUE_REDIS,
    };
  }
  return {
    ...tokens,
    producer: `DelayQueueProducer(${connection})`,
    admin: `DelayQueueAdmin(${connection})`,
    events: `DelayQueueEvents(${connection})`,
    health: `DelayQueueHealth(${connection})`,
    redis: `DELAY_QUEUE_REDIS(${connection})`,
  };
}

/** Provides what has a class as its token under the class that other copies of this package have for it, too. */
export function aliasesOf(tokens: readonly InjectionToken[]): ExistingProvider[] {
  return tokens.flatMap((token) => twinsOf(token).map((twin) => ({ provide: twin, useExisting: token })));
}
