import { isDeepStrictEqual } from 'node:util';
import type { OnApplicationBootstrap, OnApplicationShutdown, OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import type { DelayQueueConnection } from '../../composition/delay-queue.connection.js';
import type { ConsumerSettings } from '../../consumer/consumer-context.js';
import { warnOfCopies } from '../../package-copies.js';
import { isConnectionToken } from '../decorators/delay-queue.tokens.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import type { DeadLetterHookExplorer } from '../handlers/dead-letter-hook.explorer.js';
import type { DelayedHandlerExplorer } from '../handlers/delayed-handler.explorer.js';
import type { RecurringHandlerExplorer } from '../handlers/recurring-handler.explorer.js';

/** Explorers that find the decorated methods of the application. */
export interface Explorers {
  readonly handlers: DelayedHandlerExplorer;
  readonly recurring: RecurringHandlerExplorer;
  readonly hooks: DeadLetterHookExplorer;
}

/**
 * Ties a connection to the application's lifecycle: connects when its modules are initialized, consumes once it has bootstrapped, stops
 * handling when the shutdown begins, and disconnects last, so that other providers can publish while they shut down.
 */
export class DelayQueueScheduler
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  readonly #connection: DelayQueueConnection;
  readonly #explorers: Explorers;
  readonly #discovery: DiscoveryService;

  constructor(connection: DelayQueueConnection, explorers: Explorers, discovery: DiscoveryService) {
    this.#connection = connection;
    this.#explorers = explorers;
    this.#discovery = discovery;
  }

  /**
   * @throws BrokerUnavailableError, ConfigurationError; see {@link DelayQueueConnection.connect}
   * @throws ConfigurationError if another module of this connection has other options
   */
  async onModuleInit(): Promise<void> {
    warnOfCopies(this.#connection.log);
    await this.#orCloseAll(async () => {
      this.#assertUnambiguous();
      await this.#connection.connect();
    });
  }

  /** @throws ConfigurationError if a handler cannot work */
  async onApplicationBootstrap(): Promise<void> {
    await this.#orCloseAll(async () => {
      const { consumer } = this.#connection.options;
      if (consumer && this.#isFirst()) await this.#consume(consumer);
      this.#connection.booted((topic) => this.#whyNotHandled(topic));
    });
  }

  async onModuleDestroy(): Promise<void> {
    await this.#connection.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#connection.close();
  }

  async #consume(consumer: ConsumerSettings): Promise<void> {
    const { name, options } = this.#connection;
    const names = new Set(this.#connections().map((connection) => connection.name));
    const { handlers, recurring, hooks } = this.#explorers;
    await this.#connection.consume({
      handlers: handlers.explore(name, { ...options, consumer }, names),
      hooks: hooks.explore(name, names),
      schedules: recurring.explore(name),
      findProvided: (token) => this.#provided(token),
    });
  }

  /** Asserts that modules of one connection agree: Nest makes a module of each call of `forRoot()`. */
  #assertUnambiguous(): void {
    const connections = this.#connections();
    for (const { name, options } of connections) {
      const first = connections.find((other) => other.name === name);
      if (isDeepStrictEqual(first?.options.given, options.given)) continue;
      throw new ConfigurationError(
        `DelayQueueModule is imported more than once as connection '${name}', with different options (functions and ` +
          `instances are equal only if they are the same). Import it once, or give each a name of its own: forRoot({ name }).`,
      );
    }
  }

  /** Whether this is the first module of its connection: only that one consumes. */
  #isFirst(): boolean {
    const { name, log } = this.#connection;
    if (this.#connections().find((connection) => connection.name === name) === this.#connection) return true;
    log.warn(
      `DelayQueueModule is imported more than once as connection '${name}'. Only the first one consumes, and ` +
        `only its DelayQueueEvents tell of deliveries. Import it once, in the root module.`,
    );
    return false;
  }

  #whyNotHandled(topic: string): string | undefined {
    const { name, options } = this.#connection;
    const to = options.outbound.get(topic);
    if (to && !options.consumer) {
      return (
        `Its option '${to.option}' means nothing in this process, which with 'consumer: false' only publishes: start a process that consumes, ` +
        `with the same option.`
      );
    }
    const [found] = this.#explorers.handlers.handlersOf(topic);
    if (!found) return undefined;
    if (found.connection !== name) {
      return (
        `${found.name} of this process handles a topic of that name on connection '${found.connection}', and this one is ` +
        `published to on connection '${name}': use the same one for both.`
      );
    }
    if (options.consumer) return undefined;
    return `${found.name} of this process would, but with 'consumer: false' it only publishes: start a process that consumes.`;
  }

  /**
   * Closes all connections if a step fails: Nest calls no shutdown hooks after a failed boot. An open connection would keep the process
   * alive, and others of the application would go on consuming. They may belong to other copies of this package.
   */
  async #orCloseAll(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      await Promise.all(this.#connections().map(async (connection) => connection.close()));
      throw error;
    }
  }

  #connections(): DelayQueueConnection[] {
    const providers = this.#discovery.getProviders().filter(({ token }) => isConnectionToken(token));
    return providers.map(({ instance }) => instance as DelayQueueConnection);
  }

  /** Returns the instances for a token; `undefined` for a scoped or transient provider, which has no useful one. */
  #provided(sought: unknown): unknown[] {
    const providers = this.#discovery.getProviders().filter(({ token }) => token === sought);
    return providers.map((provider) =>
      provider.isDependencyTreeStatic() && !provider.isTransient ? (provider.instance as unknown) : undefined,
    );
  }
}
