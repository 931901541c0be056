import { AsyncLocalStorage } from 'node:async_hooks';
import type { ContextId, ExternalContextCreator } from '@nestjs/core';
import { pick } from '../decorators/parameter.decorators.js';
import { RetryLaterError } from '../../errors/handling.errors.js';
import { InnerCalls, type Outlived, withInnerCalls } from '../../time/inner-calls.js';
import { completed, completing } from './completion.js';
import { CONTEXT_TYPE } from './delay-queue-context.js';
import type { DecoratedMethod, InstanceWrapper, Method } from './decorated-methods.js';
import { PARAMETERS_METADATA, withMetadataOf } from './nest-metadata.js';

/**
 * Calls a handler with its payload and its message, or with those of a batch. Throws or rejects if it fails.
 *
 * @param outlived called before the result settles, if the method still runs
 */
export type Invoke = (payload: unknown, message: unknown, outlived?: Outlived) => Promise<unknown>;

type HandlerMethod = Pick<DecoratedMethod<unknown>, 'wrapper' | 'name' | 'method'>;

type ParamsFactory = NonNullable<Parameters<ExternalContextCreator['create']>[4]>;

/** Gives Nest the value of a parameter marked with `@Payload()`, which is stored as `@Body()` so that pipes treat it as one. */
const PARAMETERS: ParamsFactory = {
  exchangeKeyForValue: (_type: number, property: unknown, [payload, message]: unknown[]): unknown =>
    pick(payload, property, Array.isArray(message)),
};

/** Returns a function that calls the method directly. */
export function directCall(instance: object, name: string): Invoke {
  return (payload, message) => completed(callByName(instance, name, [payload, message]));
}

/** Builds the pipeline around a handler: guards, interceptors and pipes, then the method, then exception filters. */
export class HandlerPipeline {
  readonly #creator: ExternalContextCreator;
  readonly #handler: HandlerMethod;
  readonly #method: Method;
  /** Stand-in for the method when Nest looks for filters; `undefined` if there are none. */
  readonly #rethrow: Method | undefined;

  constructor(creator: ExternalContextCreator, handler: HandlerMethod, hasFilters: boolean) {
    this.#creator = creator;
    this.#handler = handler;
    this.#method = standIn(handler);
    this.#rethrow = hasFilters ? rethrowing(handler) : undefined;
  }

  /**
   * @param instance the one whose method is called
   * @param contextId context of the delivery, if the class or its enhancers do not have the default scope
   */
  around(instance: object, contextId?: ContextId): Invoke {
    const { name } = this.#handler;
    const call = this.#create(instance, this.#method, name, contextId, FILTERS_APART);
    const followed: Invoke = async (payload, message, outlived) =>
      withInnerCalls(async (calls) => CALLS.run(calls, async () => completed(call(payload, message))), outlived);
    // Without filters, Nest would only add a line to the log for each retry.
    if (!this.#rethrow) return followed;
    // Filters run separately, since the result of a filter means something else than that of a handler.
    const filter = this.#create(instance, this.#rethrow, `${name} (filters)`, contextId, FILTERS_ONLY);
    return async (payload, message, outlived) => {
      try {
        return await followed(payload, message, outlived);
      } catch (error) {
        // Not a failure: the handler asks for another time.
        if (error instanceof RetryLaterError) throw error;
        return filtered(await filter(payload, message, error), error);
      }
    };
  }

  #create(
    instance: object,
    callback: Method,
    name: string,
    contextId: ContextId | undefined,
    parts: typeof FILTERS_APART | typeof FILTERS_ONLY,
  ): (...args: unknown[]) => Promise<unknown> {
    const { wrapper } = this.#handler;
    const parameters = parts.filters ? undefined : PARAMETERS;
    return asProvider(wrapper, () =>
      this.#creator.create(
        instance,
        callback,
        name,
        PARAMETERS_METADATA,
        parameters,
        contextId,
        wrapper.id,
        parts,
        CONTEXT_TYPE,
      ),
    );
  }
}

const FILTERS_APART = { guards: true, interceptors: true, filters: false };
const FILTERS_ONLY = { guards: false, interceptors: false, filters: true };

/** Method calls within a call of the pipeline: an interceptor can make several, and need not wait for any. */
const CALLS = new AsyncLocalStorage<InnerCalls>();

/** Returns a stand-in for the method in the pipeline. */
function standIn({ name, method }: HandlerMethod): Method {
  const call: Method = function (this: unknown, ...args) {
    return completing(callByName(this as object, name, args), CALLS.getStore() ?? new InnerCalls());
  };
  Object.defineProperty(call, 'name', { value: method.name });
  return withMetadataOf(method, call);
}

/** Returns a function that throws its third argument, after payload and message, for the filters of the method to see. */
function rethrowing({ method }: HandlerMethod): Method {
  return withMetadataOf(method, (...args: unknown[]) => {
    throw args[2];
  });
}

/** Calls the method by name, so that tests can replace it. */
function callByName(instance: object, name: string, args: unknown[]): unknown {
  return (instance as Record<string, Method>)[name]?.(...args);
}

/**
 * Returns a filter's result. A filter that returns nothing has seen the exception and leaves it as the outcome. For Nest 11 a falsy value
 * is no result, so it is none with later versions either.
 */
async function filtered(answer: unknown, error: unknown): Promise<unknown> {
  const value = await completed(answer);
  if (!value) throw error;
  return value;
}

/**
 * Makes a controller count as a provider during the call: Nest looks for the module of a handler among the providers of all modules, so it
 * would not find enhancers bound to a controller.
 */
function asProvider<T>({ host, token, id }: InstanceWrapper, create: () => T): T {
  const controller = host?.controllers.get(token);
  if (!host || controller?.id !== id || host.providers.has(token)) return create();
  host.providers.set(token, controller);
  try {
    return create();
  } finally {
    host.providers.delete(token);
  }
}
