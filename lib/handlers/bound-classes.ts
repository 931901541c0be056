import { ConfigurationError } from '../errors/options.errors.js';
import type { HandlerMethod } from './handler-pipeline.js';
import { enhancersOf, parametersOf } from './nest-metadata.js';

/**
 * Nest makes the guards, interceptors, pipes and filters that are bound as classes only where it makes the class they are
 * bound to. Elsewhere it leaves them out without a word, and a guard that is not asked refuses nothing.
 *
 * @throws ConfigurationError for a handler to which a class is bound that Nest has not made
 */
export function assertBoundClassesAreMade(label: string, { wrapper, type, name, method }: HandlerMethod): void {
  const pipes = Object.values(parametersOf(type, name)).flatMap((parameter) => parameter.pipes ?? []);
  for (const enhancer of [...enhancersOf(type), ...enhancersOf(method), ...pipes]) {
    if (typeof enhancer !== 'function' || wrapper.host?.injectables.has(enhancer)) continue;
    throw new ConfigurationError(
      `@DelayedHandler on ${label}: ${enhancer.name} would not run, since Nest makes what is bound to a class only if it ` +
        `makes the class itself, and this one comes from a factory or is a value. List the class among the providers, or ` +
        `bind an instance, such as new ${enhancer.name}().`,
    );
  }
}
