import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import { DEFAULT_CONNECTION, DELAYED_HANDLER_METADATA } from '../delay-queue.constants.js';
import type { DelayedHandlerMetadata } from '../decorators/delayed-handler.decorator.js';
import { ConfigurationError } from '../errors/configuration.error.js';
import type { DelayedMessage } from '../message/delayed-message.interface.js';
import { HandlerFactory } from '../pipeline/handler-factory.js';
import { type ConsumingOptions, resolveHandler } from '../options/resolve-handler.js';
import { assertConnection, connectionsAmong } from './connections.js';
import { classesFirst, decoratedMethods } from './decorated-methods.js';
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
    const { scanner, reflector } = this;
    const handlers: MessageHandler[] = [];
    for (const found of decoratedMethods<DelayedHandlerMetadata>(
      { wrappers, scanner, reflector },
      DELAYED_HANDLER_METADATA,
    )) {
      const { label, metadata, ...call } = found;
      const { connection = DEFAULT_CONNECTION, onRefusal = 'dead-letter' } = metadata.options;
      assertConnection(`@DelayedHandler on ${label}`, connection, connections);
      if (connection !== options.connection) continue;
      const resolved = resolveHandler(label, metadata.topics, metadata.options, options);
      const invoke = this.factory.create(label, call, onRefusal);
      handlers.push({
        ...resolved,
        handle: (messages: readonly DelayedMessage[]) => invoke(...argumentsFor(messages, resolved.batch)),
      });
    }
    assertOnePerTopic(handlers);
    return handlers;
  }
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
