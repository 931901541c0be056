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
 * Calls a handler with its payload and its message, or with those of a batch.
 *
 * @param outlived called before it settles, if the method still runs
 */
export type Invoke = (payload: unknown, message: unknown, outlived?: Outlived) => Promise<unknown>;

type HandlerMethod = Pick<DecoratedMethod<unknown>, 'wrapper' | 'name' | 'method'>;

type ParamsFactory = NonNullable<Parameters<ExternalContextCreator['create']>[4]>;

/** Tells Nest the value of a parameter marked with `@Payload()`, which is stored as `@Body()` so that pipes take it for one. */
const PARAMETERS: ParamsFactory = {
  exchangeKeyForValue: (_type: number, property: unknown, [payload, message]: unknown[]): unknown =>
    pick(payload, property, Array.isArray(message)),
};

/** Calls the method with nothing around it. */
export function directCall(instance: object, name: string): Invoke {
  return async (payload, message) => completed(callByName(instance, name, [payload, message]));
}

/** Builds what runs around a handler: guards, interceptors and pipes, then the method, then exception filters. */
export class HandlerPipeline {
  readonly #creator: ExternalContextCreator;
  readonly #handler: HandlerMethod;
  readonly #method: Method;
  /** Stands for the method when Nest looks for filters; `undefined`: there are none. */
  readonly #rethrow: Method | undefined;

  constructor(creator: ExternalContextCreator, handler: HandlerMethod, hasFilters: boolean) {
    this.#creator = creator;
    this.#handler = handler;
    this.#method = standIn(handler);
    this.#rethrow = hasFilters ? rethrowing(handler) : undefined;
  }

  /**
   * @param instance the one whose method is called
   * @param contextId of the delivery, if the class or what is bound to it has another scope than the default one
   */
  around(instance: object, contextId?: ContextId): Invoke {
    const { name } = this.#handler;
    const call = this.#create(instance, this.#method, name, contextId, FILTERS_APART);
    const followed: Invoke = async (payload, message, outlived) =>
      withInnerCalls(async (calls) => CALLS.run(calls, async () => completed(call(payload, message))), outlived);
    // Without filters, Nest would only add a line to the log for each retry.
    if (!this.#rethrow) return followed;
    // Filters run separately, since the answer of a filter means something else than the result of a handler.
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

/** The method calls within a call of the pipeline: an interceptor may make several, and need not wait for any. */
const CALLS = new AsyncLocalStorage<InnerCalls>();

/** Stands for the method in the pipeline. */
function standIn({ name, method }: HandlerMethod): Method {
  const call: Method = function (this: unknown, ...args) {
    return completing(callByName(this as object, name, args), CALLS.getStore() ?? new InnerCalls());
  };
  Object.defineProperty(call, 'name', { value: method.name });
  return withMetadataOf(method, call);
}

/** Throws the error that comes after payload and message, for the filters of the method to see. */
function rethrowing({ method }: HandlerMethod): Method {
  return withMetadataOf(method, (...args: unknown[]) => {
    throw args[2];
  });
}

/** By name, so that tests can replace the method. */
function callByName(instance: object, name: string, args: unknown[]): unknown {
  return (instance as Record<string, Method>)[name]?.(...args);
}

/**
 * A filter that answers nothing has looked at the exception and leaves it as the outcome. To Nest 11 a falsy value is no
 * answer, so it is none with later versions either.
 */
async function filtered(answer: unknown, error: unknown): Promise<unknown> {
  const value = await completed(answer);
  if (!value) throw error;
  return value;
}

/**
 * Nest looks for the module of a handler among the providers of all modules, so it would not find what is bound to a
 * controller. During the call a controller counts as a provider.
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
