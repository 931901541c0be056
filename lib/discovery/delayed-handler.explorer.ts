import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import { DEFAULT_CONNECTION, DELAYED_HANDLER_METADATA } from '../delay-queue.constants.js';
import type { DelayedHandlerMetadata } from '../decorators/delayed-handler.decorator.js';
import { ConfigurationError } from '../errors/configuration.error.js';
import type { DelayedMessage } from '../message/delayed-message.interface.js';
import { HandlerFactory } from '../pipeline/handler-factory.js';
import type { InstanceWrapper, Method } from '../pipeline/handler-pipeline.js';
import { type ConsumingOptions, resolveHandler } from '../options/resolve-handler.js';
import type { ResolvedOptions } from '../options/resolved-options.interface.js';
import { assertConnection, connectionsAmong } from './connections.js';
import { argumentsFor } from './handler-arguments.js';

/** Finds the methods marked with `@DelayedHandler` on the providers and controllers of the application. */
@Injectable()
export class DelayedHandlerExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
    private readonly factory: HandlerFactory,
  ) {}

  /**
   * @returns the handlers of a connection
   * @throws ConfigurationError that names class and method of what cannot work
   */
  explore(options: ConsumingOptions): MessageHandler[] {
    const wrappers = [...this.discovery.getProviders(), ...this.discovery.getControllers()].toSorted(classesFirst);
    const connections = connectionsAmong(wrappers);
    const handlers: MessageHandler[] = [];
    const seen = new Set<object>();
    for (const wrapper of wrappers) {
      const instance = wrapper.instance as Record<string, Method> | null | undefined;
      // What an alias stands for is found by itself, and an instance that is provided twice is still one handler.
      if (wrapper.isAlias || typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      handlers.push(...this.#handlersOf(wrapper, instance, options, connections));
    }
    assertOnePerTopic(handlers);
    return handlers;
  }

  #handlersOf(
    wrapper: InstanceWrapper,
    instance: Record<string, Method>,
    options: ConsumingOptions,
    connections: readonly ResolvedOptions[],
  ): MessageHandler[] {
    const prototype = Object.getPrototypeOf(instance) as Record<string, Method> | null;
    if (prototype === null) return [];
    const handlers: MessageHandler[] = [];
    for (const method of this.scanner.getAllMethodNames(prototype)) {
      const metadata = this.reflector.get<DelayedHandlerMetadata | undefined>(
        DELAYED_HANDLER_METADATA,
        prototype[method] as Method,
      );
      if (!metadata) continue;
      const name = `${prototype.constructor.name}.${method}`;
      const { connection = DEFAULT_CONNECTION } = metadata.options;
      assertConnection(name, connection, connections);
      if (connection !== options.connection) continue;
      const resolved = resolveHandler(name, metadata.topics, metadata.options, options);
      const { onRefusal = 'dead-letter' } = metadata.options;
      const call = { wrapper, type: prototype.constructor, name: method, method: prototype[method] as Method };
      const invoke = this.factory.create(name, call, onRefusal);
      handlers.push({
        ...resolved,
        handle: (messages: readonly DelayedMessage[]) => invoke(...argumentsFor(messages, resolved.batch)),
      });
    }
    return handlers;
  }
}

/** Where a factory provides an instance once more, what is bound to its class is known to the module of the class alone. */
function classesFirst(a: InstanceWrapper, b: InstanceWrapper): number {
  return Number(a.isNotMetatype) - Number(b.isNotMetatype);
}

function assertOnePerTopic(handlers: readonly MessageHandler[]): void {
  const owners = new Map<string, MessageHandler>();
  for (const handler of handlers) {
    for (const { topic } of handler.topics) {
      const other = owners.get(topic);
      if (other) {
        throw new ConfigurationError(
          `Topic '${topic}' has two handlers in this process, ${other.name} and ${handler.name}; a message would be ` +
            `handled by only one of them. Remove one, or publish to two topics.`,
        );
      }
      owners.set(topic, handler);
    }
  }
}
