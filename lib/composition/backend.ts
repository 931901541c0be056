import { isMainThread } from 'node:worker_threads';
import type { Broker } from '../store/broker.interface.js';
import { noRedis } from '../engines/redis/connection/redis-clients.js';
import { createRedisBroker } from '../engines/redis/redis.broker.js';
import type { Role } from '../engines/redis/scripts/rights.js';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import type { Log } from '../log.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';
import { type Clock, SystemClock } from '../time/clock.js';
import type { DelayQueueModuleOptions } from './delay-queue-options.interface.js';
import { isEmbedded } from './assert-redis.js';
import { type ResolvedOptions, resolveOptions } from './resolve-options.js';

export type { MessageHandler };

/** What a connection makes its broker with. */
export interface BrokerContext {
  readonly log: Log;
  /** `undefined`: nothing is measured. */
  readonly metrics: DelayQueueMetrics | undefined;
  /** Whose rights the user of Redis has to have at least. */
  readonly role: Role;
}

/** What a connection stands on: Redis and the time of this process. The testing kit puts another one in its place. */
export interface Backend {
  readonly clock: Clock;
  /** Whether the process is expected to be ended by a signal. */
  readonly expectsSignals: boolean;
  /**
   * Checks the options of a connection and fills in every default.
   *
   * @param version of the copy of this package that the connection belongs to
   * @throws ConfigurationError that says which option is wrong, or that this backend cannot serve the version
   */
  resolve(given: DelayQueueModuleOptions, version: string): ResolvedOptions;
  /** @returns a broker that is not connected yet, and the ioredis client that applications can inject */
  createBroker(options: ResolvedOptions, context: BrokerContext): Promise<{ broker: Broker; redis: object }>;
  /** To be put around each handler, by whoever has to know when it runs. */
  watch(handler: MessageHandler): MessageHandler;
  /** To be called when the application has bootstrapped. */
  booted(): void;
  /** To be called around each stop, which may have to wait for time to pass. */
  whileStopping(stopping: Promise<void>): Promise<void>;
}

/** The Redis that the options name, or the memory of this process if they say so; and the time of this process. */
export class SystemBackend implements Backend {
  readonly clock = new SystemClock();

  /** Tests end their applications themselves, and a worker thread gets no signals. */
  get expectsSignals(): boolean {
    return process.env['NODE_ENV'] !== 'test' && isMainThread;
  }

  resolve(given: DelayQueueModuleOptions): ResolvedOptions {
    return resolveOptions(given);
  }

  async createBroker(
    { redis, prefix, publishTimeout, replicas }: ResolvedOptions,
    { log, metrics, role }: BrokerContext,
  ): Promise<{ broker: Broker; redis: object }> {
    if (isEmbedded(redis)) return this.#createEmbedded(prefix, role === 'operator' ? undefined : log);
    const broker = await createRedisBroker({
      redis,
      prefix,
      connectTimeout: publishTimeout,
      replicas,
      role,
      clock: this.clock,
      log,
      onScript: metrics && ((name, duration) => metrics.observeScript(name, duration / 1000)),
    });
    return { broker, redis: broker.client };
  }

  /** Loaded only where it is used: it has every script once more. */
  async #createEmbedded(prefix: string, log: Log | undefined): Promise<{ broker: Broker; redis: object }> {
    const { createEmbeddedBroker } = await import(/* webpackMode: "eager" */ '../engines/embedded/embedded.broker.js');
    log?.warn(
      "redis: 'embedded:' keeps messages in the memory of this process: they are gone when it ends, and no other process sees " +
        'them. Use it for development, demos and tests.',
    );
    const redis = await noRedis("with redis: 'embedded:' there is no Redis.");
    return { broker: createEmbeddedBroker(this.clock, prefix), redis };
  }

  watch(handler: MessageHandler): MessageHandler {
    return handler;
  }

  booted(): void {}

  async whileStopping(stopping: Promise<void>): Promise<void> {
    await stopping;
  }
}
