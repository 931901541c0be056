import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { isObservable, lastValueFrom } from 'rxjs';
import { assertOptions } from '../checks/validate.js';
import type { DeadLetterHook } from '../consumer/dead-letter-notifier.js';
import type { OnDeadLetterMetadata } from '../decorators/on-dead-letter.decorator.js';
import { DEFAULT_CONNECTION, ON_DEAD_LETTER_METADATA } from '../decorators/delay-queue.constants.js';
import { ConfigurationError } from '../errors/configuration.error.js';
import { checkedTopicName } from '../messages/topic.js';
import { asConfiguration } from '../connection/option-checks.js';
import type { InstanceWrapper, Method } from './handler-pipeline.js';
import { assertConnection, connectionsAmong } from '../module/connections.js';
import { type DecoratedMethod, classesFirst, decoratedMethods } from './decorated-methods.js';

/** Finds the methods marked with `@OnDeadLetter` on the providers and controllers of the application. */
@Injectable()
export class DeadLetterHookExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /**
   * @returns the hooks of a connection
   * @throws ConfigurationError that names class and method of what cannot work
   */
  explore(connection: string): DeadLetterHook[] {
    const { discovery, scanner, reflector } = this;
    const wrappers = [...discovery.getProviders(), ...discovery.getControllers()].toSorted(classesFirst);
    const connections = connectionsAmong(wrappers);
    const methods = decoratedMethods<OnDeadLetterMetadata[]>({ wrappers, scanner, reflector }, ON_DEAD_LETTER_METADATA);
    return [...methods].flatMap((found) =>
      found.metadata.flatMap(({ topic, options }): DeadLetterHook[] => {
        const where = `@OnDeadLetter on ${found.label}`;
        const checked = asConfiguration(where, () => {
          assertOptions('Its options', options, ['connection']);
          return checkedTopicName(topic);
        });
        const { connection: wanted = DEFAULT_CONNECTION } = options;
        assertConnection(where, wanted, connections);
        assertOneInstance(where, found.wrapper);
        return wanted === connection ? [{ name: found.label, topic: checked, call: callOf(found) }] : [];
      }),
    );
  }
}

function callOf({ wrapper, name }: DecoratedMethod<unknown>): DeadLetterHook['call'] {
  const instance = wrapper.instance as Record<string, Method>;
  return (letter) => {
    const result = instance[name]?.(letter);
    return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
  };
}

/** There is no delivery any more that an instance could be made for. */
function assertOneInstance(where: string, wrapper: InstanceWrapper): void {
  if (!wrapper.isTransient && wrapper.isDependencyTreeStatic()) return;
  throw new ConfigurationError(
    `${where}: its class, or something it depends on, is request-scoped or transient, and there is no request to make it ` +
      `for. Move the method to a provider with the default scope, and resolve what it needs with ModuleRef.`,
  );
}
