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
import { isEmbedded } from './redis-option.js';
import { type ResolvedOptions, resolveOptions } from './resolve-options.js';

export type { MessageHandler };

/** Context in which a connection creates its broker. */
export interface BrokerContext {
  readonly log: Log;
  /** `undefined` if nothing is measured. */
  readonly metrics: DelayQueueMetrics | undefined;
  /** Role whose rights the Redis user needs at least. */
  readonly role: Role;
}

/** Foundation of a connection: Redis and the time of this process. The testing kit replaces it. */
export interface Backend {
  readonly clock: Clock;
  /** Whether a signal is expected to end the process. */
  readonly expectsSignals: boolean;
  /**
   * Checks the options of a connection and fills in every default.
   *
   * @param version that of the package copy that the connection belongs to
   * @throws ConfigurationError that names the wrong option, or if this backend cannot serve the version
   */
  resolve(given: DelayQueueModuleOptions, version: string): ResolvedOptions;
  /** @returns a broker that is not connected yet, and the ioredis client that applications can inject */
  createBroker(options: ResolvedOptions, context: BrokerContext): Promise<{ broker: Broker; redis: object }>;
  /** Wraps a handler, for a backend that has to know when it runs. */
  watch(handler: MessageHandler): MessageHandler;
  /** Call this when the application has bootstrapped. */
  booted(): void;
  /** Wraps each stop, which may have to wait for time to pass. */
  whileStopping(stopping: Promise<void>): Promise<void>;
}

/** Uses the Redis that the options name, or the memory of this process if they say so; and the time of this process. */
export class SystemBackend implements Backend {
  readonly clock = new SystemClock();

  /** Whether signals are expected: tests end their applications themselves, and a worker thread gets no signals. */
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

  /** Loads the embedded broker only when it is used: it has a second copy of every script. */
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
