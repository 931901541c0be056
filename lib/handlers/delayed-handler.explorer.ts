import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import { DEFAULT_CONNECTION, DELAYED_HANDLER_METADATA } from '../decorators/delay-queue.constants.js';
import type { DelayedHandlerMetadata } from '../decorators/delayed-handler.decorator.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import { topicName } from '../messages/topic.js';
import { HandlerFactory } from './handler-factory.js';
import type { InstanceWrapper } from './handler-pipeline.js';
import { type ConsumingOptions, resolveHandler } from './resolve-handler.js';
import { assertConnection, connectionsAmong } from '../module/connections.js';
import { type DecoratedMethod, classesFirst, decoratedMethods } from './decorated-methods.js';
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
    const wrappers = this.#wrappers();
    const connections = connectionsAmong(wrappers);
    const handlers: MessageHandler[] = [];
    for (const found of this.#decorated(wrappers)) {
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

  /** The handlers that the application has for a topic, whatever their connection and whether or not they are in use. */
  handlersOf(topic: string): { readonly name: string; readonly connection: string }[] {
    return [...this.#decorated(this.#wrappers())]
      .filter(({ metadata }) => metadata.topics.some((ref) => topicName(ref) === topic))
      .map(({ label, metadata }) => ({ name: label, connection: metadata.options.connection ?? DEFAULT_CONNECTION }));
  }

  #wrappers(): InstanceWrapper[] {
    return [...this.discovery.getProviders(), ...this.discovery.getControllers()].toSorted(classesFirst);
  }

  #decorated(wrappers: readonly InstanceWrapper[]): Generator<DecoratedMethod<DelayedHandlerMetadata>> {
    const { scanner, reflector } = this;
    return decoratedMethods({ wrappers, scanner, reflector }, DELAYED_HANDLER_METADATA);
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
