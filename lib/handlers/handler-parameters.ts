import type { ExternalContextCreator } from '@nestjs/core';
import { ConfigurationError } from '../errors/options.errors.js';
import { BODY, parametersOf } from './nest-metadata.js';

type ParamsFactory = NonNullable<Parameters<ExternalContextCreator['create']>[4]>;

/** Tells Nest what a decorated parameter of a handler is: `@Payload()` is stored as `@Body()`, so that pipes take it for one. */
export const handlerParameters: ParamsFactory = {
  exchangeKeyForValue: (_type: number, property: unknown, [payload, message]: unknown[]): unknown =>
    pick(payload, property, Array.isArray(message)),
};

/** A property of a value, or of each value of a batch; the value itself where no property is asked for. */
export function pick(value: unknown, property: unknown, isBatch: boolean): unknown {
  if (typeof property !== 'string') return value;
  if (isBatch) return (value as readonly unknown[]).map((each) => pick(each, property, false));
  return (value as Record<string, unknown> | null | undefined)?.[property];
}

/**
 * Nest fills only decorated parameters once there is one, and knows nothing of requests here.
 *
 * @returns whether any parameter is decorated
 * @throws ConfigurationError for a parameter that would be `undefined`
 */
export function checkParameters(name: string, type: object, method: string, count: number): boolean {
  const parameters = Object.entries(parametersOf(type, method));
  if (parameters.length === 0) return false;
  for (const [key, { index, factory }] of parameters) {
    if (factory === undefined && key.split(':')[0] !== BODY) {
      throw new ConfigurationError(
        `@DelayedHandler on ${name}: parameter ${index + 1} has a decorator that only means something in a request. Use ` +
          `@Payload(), @Message(), or one made with createParamDecorator().`,
      );
    }
  }
  const decorated = new Set(parameters.map(([, { index }]) => index));
  for (let index = 0; index < count; index++) {
    if (!decorated.has(index)) {
      throw new ConfigurationError(
        `@DelayedHandler on ${name}: parameter ${index + 1} has no decorator, but others have, and then Nest fills only ` +
          `those. Mark it with @Payload() or @Message().`,
      );
    }
  }
  return true;
}
