import { ConfigurationError } from '../../errors/options.errors.js';
import type { DecoratedMethod } from './decorated-methods.js';
import { BODY, enhancersOf, parametersOf } from './nest-metadata.js';

/**
 * Nest makes the guards, interceptors, pipes and filters that are bound as classes only if it makes the class they are bound
 * to. Otherwise it leaves them out silently, and a guard that is not asked refuses nothing.
 *
 * @throws ConfigurationError if a class is bound to the handler that Nest has not made
 */
export function assertBoundClassesAreMade(handler: DecoratedMethod<unknown>): void {
  const { wrapper, type, name, method } = handler;
  const pipes = Object.values(parametersOf(type, name)).flatMap((parameter) => parameter.pipes ?? []);
  for (const enhancer of [...enhancersOf(type), ...enhancersOf(method), ...pipes]) {
    if (typeof enhancer !== 'function' || wrapper.host?.injectables.has(enhancer)) continue;
    throw new ConfigurationError(
      `${handler.where}: ${enhancer.name} would not run, since Nest makes what is bound to a class only if it ` +
        `makes the class itself, and this one comes from a factory or is a value. List the class among the providers, or ` +
        `bind an instance, such as new ${enhancer.name}().`,
    );
  }
}

/**
 * If any parameter is decorated, Nest fills only decorated ones, and here it knows nothing of requests.
 *
 * @returns whether any parameter is decorated
 * @throws ConfigurationError for a parameter that would be `undefined`
 */
export function checkParameters(handler: DecoratedMethod<unknown>): boolean {
  const { type, name, method } = handler;
  const parameters = Object.entries(parametersOf(type, name));
  if (parameters.length === 0) return false;
  for (const [key, { index, factory }] of parameters) {
    if (factory === undefined && key.split(':')[0] !== BODY) {
      throw new ConfigurationError(
        `${handler.where}: parameter ${index + 1} has a decorator that only means something in a request. Use ` +
          `@Payload(), @Message(), or one made with createParamDecorator().`,
      );
    }
  }
  const decorated = new Set(parameters.map(([, { index }]) => index));
  for (let index = 0; index < method.length; index++) {
    if (!decorated.has(index)) {
      throw new ConfigurationError(
        `${handler.where}: parameter ${index + 1} has no decorator, but others have, and then Nest fills only ` +
          `those. Mark it with @Payload() or @Message().`,
      );
    }
  }
  return true;
}
