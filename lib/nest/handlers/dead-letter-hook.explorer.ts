import { Injectable } from '@nestjs/common';
import { asConfiguration, assertOptions } from '../../checks/validate.js';
import type { DeadLetterHook } from '../../consumer/delivery/dead-letter-notifier.js';
import { DEFAULT_CONNECTION, ON_DEAD_LETTER_METADATA } from '../decorators/delay-queue.tokens.js';
import type { OnDeadLetterMetadata } from '../decorators/on-dead-letter.decorator.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import { checkedTopicName } from '../../messages/topic.js';
import {
  type DecoratedMethod,
  DecoratedMethods,
  type InstanceWrapper,
  type Method,
  assertConnection,
} from './decorated-methods.js';
import { completed } from './completion.js';

/** Finds the methods marked with `@OnDeadLetter`. */
@Injectable()
export class DeadLetterHookExplorer {
  constructor(private readonly methods: DecoratedMethods) {}

  /**
   * @param connections names of all connections of the application
   * @returns the hooks of a connection
   * @throws ConfigurationError that names class and method of a hook that cannot work
   */
  explore(connection: string, connections: ReadonlySet<string>): DeadLetterHook[] {
    const hooks: DeadLetterHook[] = [];
    for (const found of this.methods.find<OnDeadLetterMetadata>(ON_DEAD_LETTER_METADATA)) {
      const {
        where,
        metadata: { topic, options },
      } = found;
      const name = asConfiguration(where, () => {
        assertOptions('Its options', options, ['connection']);
        return checkedTopicName(topic);
      });
      const { connection: wanted = DEFAULT_CONNECTION } = options;
      assertConnection(where, wanted, connections);
      assertOneInstance(where, found.wrapper);
      if (wanted === connection) hooks.push({ name: found.label, topic: name, call: callOf(found) });
    }
    return hooks;
  }
}

function callOf({ wrapper, name }: DecoratedMethod<unknown>): DeadLetterHook['call'] {
  const instance = wrapper.instance as Record<string, Method>;
  return (letter) => completed(instance[name]?.(letter));
}

/** The delivery has ended, so there is nothing to create an instance for. */
function assertOneInstance(where: string, wrapper: InstanceWrapper): void {
  if (!wrapper.isTransient && wrapper.isDependencyTreeStatic()) return;
  throw new ConfigurationError(
    `${where}: its class, or something it depends on, is request-scoped or transient, and there is no request to make it ` +
      `for. Move the method to a provider with the default scope, and resolve what it needs with ModuleRef.`,
  );
}
