import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { isObservable, lastValueFrom } from 'rxjs';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import { DELAYED_HANDLER_METADATA } from '../delay-queue.constants.js';
import type { DelayedHandlerMetadata } from '../decorators/delayed-handler.decorator.js';
import { ConfigurationError } from '../errors/configuration.error.js';
import { checkedTopicName } from '../message/topic.js';
import { resolveHandler } from '../options/resolve-options.js';
import type { ResolvedOptions } from '../options/resolved-options.interface.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];
/** Options of a process that consumes. */
type ConsumingOptions = Pick<ResolvedOptions, 'topicSettings'> & {
  readonly consumer: NonNullable<ResolvedOptions['consumer']>;
};

type Method = (payload: unknown, message: unknown) => unknown;

/** Finds the methods marked with `@DelayedHandler` on the providers and controllers of the application. */
@Injectable()
export class DelayedHandlerExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /**
   * @returns one handler a topic
   * @throws ConfigurationError that names class and method of what cannot work
   */
  explore(options: ConsumingOptions): MessageHandler[] {
    const handlers = new Map<string, MessageHandler>();
    const seen = new Set<object>();
    for (const wrapper of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const instance = wrapper.instance as Record<string, Method> | null | undefined;
      // An instance may be provided under several tokens; it is still one handler.
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      for (const handler of this.#handlersOf(wrapper, instance, options)) {
        const other = handlers.get(handler.topic);
        if (other) {
          throw new ConfigurationError(
            `Topic '${handler.topic}' has two handlers in this process, ${other.name} and ${handler.name}; a message ` +
              `would be handled by only one of them. Remove one, or publish to two topics.`,
          );
        }
        handlers.set(handler.topic, handler);
      }
    }
    return [...handlers.values()];
  }

  #handlersOf(wrapper: Wrapper, instance: Record<string, Method>, options: ConsumingOptions): MessageHandler[] {
    const prototype = Object.getPrototypeOf(instance) as Record<string, Method> | null;
    if (prototype === null) return [];
    const handlers: MessageHandler[] = [];
    for (const method of this.scanner.getAllMethodNames(prototype)) {
      const metadata = this.reflector.get<DelayedHandlerMetadata | undefined>(
        DELAYED_HANDLER_METADATA,
        prototype[method] as Method,
      );
      if (!metadata) continue;
      const name = `${wrapper.name as string}.${method}`;
      if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
        throw new ConfigurationError(
          `@DelayedHandler on ${name}: the class is request-scoped or transient, or depends on a class that is; ` +
            `handlers have to be singletons. Give it the default scope.`,
        );
      }
      handlers.push(toHandler(name, metadata, (payload, message) => instance[method]?.(payload, message), options));
    }
    return handlers;
  }
}

function toHandler(
  name: string,
  metadata: DelayedHandlerMetadata,
  method: Method,
  { topicSettings, consumer }: ConsumingOptions,
): MessageHandler {
  const topic = handlerTopic(name, metadata);
  return {
    topic,
    name,
    settings: resolveHandler(name, metadata.options, topicSettings(topic), consumer),
    handle: (payload, message) => {
      const result = method(payload, message);
      return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
    },
  };
}

function handlerTopic(name: string, { topic }: DelayedHandlerMetadata): string {
  try {
    return checkedTopicName(topic);
  } catch (error) {
    throw new ConfigurationError(`@DelayedHandler on ${name}: ${(error as Error).message}`, { cause: error });
  }
}
