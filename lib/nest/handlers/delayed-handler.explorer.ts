import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { MessageHandler } from '../../consumer/message-handler.interface.js';
import { DEFAULT_CONNECTION, DELAYED_HANDLER_METADATA } from '../decorators/delay-queue.tokens.js';
import type { DelayedHandlerMetadata } from '../decorators/delayed-handler.decorator.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import { topicName } from '../../messages/topic.js';
import { type DecoratedMethod, DecoratedMethods, assertConnection } from './decorated-methods.js';
import { HandlerFactory } from './handler-factory.js';
import { type ConsumingOptions, resolveHandler } from './resolve-handler.js';

/** Finds the methods marked with `@DelayedHandler`. */
@Injectable()
export class DelayedHandlerExplorer {
  constructor(
    private readonly methods: DecoratedMethods,
    private readonly factory: HandlerFactory,
  ) {}

  /**
   * @param options those of the connection
   * @param connections names of all connections of the application
   * @returns the handlers of a connection
   * @throws ConfigurationError that names class and method of a handler that cannot work
   */
  explore(connection: string, options: ConsumingOptions, connections: ReadonlySet<string>): MessageHandler[] {
    const handlers: MessageHandler[] = [];
    const seen: DecoratedMethod<DelayedHandlerMetadata>[] = [];
    for (const found of this.methods.find<DelayedHandlerMetadata>(DELAYED_HANDLER_METADATA)) {
      const { label, where, metadata } = found;
      const { connection: wanted = DEFAULT_CONNECTION, onRefusal = 'dead-letter' } = metadata.options;
      assertConnection(where, wanted, connections);
      // A method can have several schedules of one topic.
      if (wanted !== connection || seen.some((other) => isSame(found, other))) continue;
      seen.push(found);
      const resolved = resolveHandler(label, metadata.topics, metadata.options, options, where);
      const invoke = this.factory.create(found, onRefusal);
      handlers.push({
        ...resolved,
        handle:
          resolved.batch === undefined
            ? ([message], outlived) => invoke(message?.payload, message, outlived)
            : (messages, outlived) =>
                invoke(
                  messages.map(({ payload }) => payload),
                  messages,
                  outlived,
                ),
      });
    }
    assertOnePerTopic(handlers);
    return handlers;
  }

  /** Returns the application's handlers for a topic, whatever their connection and whether or not they are in use. */
  handlersOf(topic: string): { readonly name: string; readonly connection: string }[] {
    return [...this.methods.find<DelayedHandlerMetadata>(DELAYED_HANDLER_METADATA)]
      .filter(({ metadata }) => metadata.topics.some((ref) => topicName(ref) === topic))
      .map(({ label, metadata }) => ({ name: label, connection: metadata.options.connection ?? DEFAULT_CONNECTION }));
  }
}

function isSame(one: DecoratedMethod<DelayedHandlerMetadata>, other: DecoratedMethod<DelayedHandlerMetadata>): boolean {
  return one.wrapper === other.wrapper && one.name === other.name && isDeepStrictEqual(one.metadata, other.metadata);
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
