import { isMainThread } from 'node:worker_threads';
import type { OnApplicationBootstrap, OnApplicationShutdown, OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import type { Broker } from '../broker/broker.interface.js';
import type { Clock, Timer } from '../time/clock.js';
import { warnOfCopies } from '../copies.js';
import type { Log } from '../log.js';
import { ConsumerRuntime } from '../consumer/consumer.runtime.js';
import { sessionOf } from '../consumer/membership.js';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import { settleLayers } from '../middleware/settle-middleware.js';
import type { TopicProgress } from '../topics/progress.js';
import { withMiddleware } from '../middleware/with-middleware.js';
import { isSchedulerToken } from '../decorators/delay-queue.constants.js';
import type { DelayQueueEvents } from '../events/delay-queue.events.js';
import { assertUnambiguous, connectionsAmong, isFirst } from './connections.js';
import type { DeadLetterHookExplorer } from '../handlers/dead-letter-hook.explorer.js';
import type { DelayedHandlerExplorer } from '../handlers/delayed-handler.explorer.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';
import { MetricsReader } from '../monitoring/metrics-reader.js';
import { MetricsRecorder } from '../monitoring/metrics-recorder.js';
import type { FleetPublisher } from '../events/fleet-publisher.js';
import { isConsuming } from '../handlers/resolve-handler.js';
import type { ResolvedOptions } from '../connection/resolved-options.interface.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import type { UnhandledTopics } from '../topics/unhandled-topics.js';

/** How long after the boot somebody has to listen to signals, in milliseconds. */
const SIGNAL_GRACE = 5000;

export interface SchedulerDependencies {
  readonly broker: Broker;
  readonly topics: TopicRegistry;
  readonly unhandled: UnhandledTopics;
  readonly events: DelayQueueEvents;
  readonly fleetPublisher: FleetPublisher | undefined;
  /** Names this process among the members of every topic. */
  readonly member: string;
  readonly explorer: DelayedHandlerExplorer;
  readonly hookExplorer: DeadLetterHookExplorer;
  readonly discovery: DiscoveryService;
  readonly options: ResolvedOptions;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: DelayQueueMetrics | undefined;
}

/**
 * Ties the runtime to the application's life: connects when its modules are initialized, consumes once it has
 * bootstrapped, drains when it is told to end, and disconnects last, so that others can publish while they shut down.
 */
export class DelayQueueScheduler
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  /** What listens to signals does so for the whole process, however many applications and connections it has. */
  static #hasWarnedOfSignals = false;
  readonly #dependencies: SchedulerDependencies;
  readonly #recorder: MetricsRecorder | undefined;
  #runtime: ConsumerRuntime | undefined;
  #signalTimer: Timer | undefined;

  constructor(dependencies: SchedulerDependencies) {
    this.#dependencies = dependencies;
    this.#recorder = this.#newRecorder(dependencies);
  }

  /**
   * @throws BrokerUnavailableError with host and port, where Redis cannot be reached
   * @throws ConfigurationError where Redis is too old, a configured topic has another number of partitions, or another
   *   module of this connection has other options, or the metrics cannot work with it
   */
  async onModuleInit(): Promise<void> {
    const { broker, topics, options, log } = this.#dependencies;
    warnOfCopies(log);
    await this.#orDisconnect(async () => {
      assertUnambiguous(this.#connections());
      this.#recorder?.start();
      await broker.connect();
      await Promise.all(options.topics.map((topic) => topics.partitions(topic)));
    });
  }

  /** @throws ConfigurationError where a handler cannot work */
  async onApplicationBootstrap(): Promise<void> {
    const { options, explorer, hookExplorer, topics, broker, clock, log, events, member } = this.#dependencies;
    if (!isConsuming(options)) return this.#watchTopics([]);
    if (!isFirst(options, this.#connections())) {
      log.warn(
        `DelayQueueModule is imported more than once as connection '${options.connection}'. Only the first one consumes, and ` +
          `only its DelayQueueEvents tell of deliveries. Import it once, in the root module.`,
      );
      return this.#watchTopics([]);
    }
    await this.#orDisconnect(async () => {
      const handlers = explorer.explore(options).map((handler) => withMiddleware(handler, options.middleware));
      const hooks = hookExplorer.explore(options.connection);
      this.#runtime = new ConsumerRuntime({
        context: { broker, clock, log, events, member, settleLayers: settleLayers(options.middleware) },
        topics,
        settings: options.consumer,
        handlers,
        hooks,
      });
      const handledTopics = new Set(handlers.flatMap(({ topics: handled }) => handled.map(({ topic }) => topic)));
      for (const { name, topic } of hooks) {
        if (handledTopics.has(topic)) continue;
        log.warn(`${name} is told of no dead letter: nothing in this process handles topic '${topic}'`);
      }
      await this.#runtime.start();
      this.#watchTopics(handledTopics);
      if (handlers.length > 0) this.#watchSignals(options.consumer.heartbeat, handlers);
    });
  }

  /** How far this process has come with the topics it handles; empty where it handles none. */
  get progress(): readonly TopicProgress[] {
    return this.#runtime?.progress ?? [];
  }

  async onModuleDestroy(): Promise<void> {
    await this.#stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#disconnect();
  }

  /** Whether to be told to end by a signal; not in tests, which close their applications themselves. */
  protected get expectsSignals(): boolean {
    return process.env['NODE_ENV'] !== 'test' && isMainThread;
  }

  #watchTopics(handled: Iterable<string>): void {
    this.#dependencies.unhandled.start({ topics: new Set(handled), hint: (topic) => this.#whyNotHandled(topic) });
  }

  /** Why a handler that the application has for a topic does not count. */
  #whyNotHandled(topic: string): string | undefined {
    const { explorer, options } = this.#dependencies;
    const [found] = explorer.handlersOf(topic);
    if (!found) return undefined;
    if (found.connection !== options.connection) {
      return (
        `${found.name} of this process handles a topic of that name on connection '${found.connection}', and this one is ` +
        `published to on connection '${options.connection}': use the same one for both.`
      );
    }
    if (options.consumer) return undefined;
    return `${found.name} of this process would, but with 'consumer: false' it only publishes: start a process that consumes.`;
  }

  /**
   * Says what it costs that nobody in this process listens to SIGTERM. Not at once: shutdown hooks may be enabled after the
   * application was initialized, and one that ends by itself has ended by then.
   */
  #watchSignals(heartbeat: number, handlers: readonly MessageHandler[]): void {
    if (!this.expectsSignals) return;
    const { clock, log } = this.#dependencies;
    this.#signalTimer = clock.setTimer(SIGNAL_GRACE, () => {
      if (process.listenerCount('SIGTERM') > 0 || DelayQueueScheduler.#hasWarnedOfSignals) return;
      DelayQueueScheduler.#hasWarnedOfSignals = true;
      const leases = handlers.flatMap(({ topics }) => topics.map(({ settings }) => settings.lease));
      log.warn(
        `Nothing in this process listens to SIGTERM, so a SIGTERM, as of a deployment, ends it in the middle of its ` +
          `handlers: their messages come again up to ${Math.max(...leases) / 1000} s later, with an attempt spent, and its ` +
          `partitions wait up to ${sessionOf(heartbeat) / 1000} s for another process. Call app.enableShutdownHooks() ` +
          `before app.listen().`,
      );
    });
  }

  #newRecorder(dependencies: SchedulerDependencies): MetricsRecorder | undefined {
    const { metrics, options, events, broker, clock, log, topics } = dependencies;
    if (!metrics) return undefined;
    const reader = new MetricsReader({
      store: broker,
      clock,
      log,
      topics: () => topics.known,
      consumed: () => this.#runtime?.consumers ?? [],
    });
    return new MetricsRecorder({ metrics, connection: options.connection, events, reader });
  }

  #connections(): ResolvedOptions[] {
    return connectionsAmong(this.#dependencies.discovery.getProviders());
  }

  /**
   * Nest calls no shutdown hook after a failed boot. What is open would keep the process alive, and what consumes would go
   * on, in the other connections of the application too.
   */
  async #orDisconnect(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      const schedulers = this.#dependencies.discovery.getProviders().filter(({ token }) => isSchedulerToken(token));
      await Promise.all(schedulers.map(async ({ instance }) => (instance as DelayQueueScheduler).end()));
      throw error;
    }
  }

  /** Stops and disconnects at once. Another connection may call it, even one of another copy of this package. */
  async end(): Promise<void> {
    await this.#stop();
    await this.#disconnect();
  }

  async #stop(): Promise<void> {
    this.#signalTimer?.cancel();
    // A look that is under way changes nothing, so the drain does not wait for it.
    void this.#dependencies.unhandled.stop();
    await this.#runtime?.stop();
  }

  async #disconnect(): Promise<void> {
    this.#recorder?.stop();
    await this.#dependencies.fleetPublisher?.stop();
    await this.#dependencies.broker.close();
  }
}
