import { type CanActivate, type ExecutionContext, ForbiddenException, Injectable } from '@nestjs/common';
import { ApplicationConfig, type ContextId, ContextIdFactory, ExternalContextCreator, ModuleRef } from '@nestjs/core';
import { UnrecoverableError } from '../../errors/handling.errors.js';
import type { HandlerOptions } from '../decorators/handler-options.interface.js';
import type { DecoratedMethod, InstanceWrapper } from './decorated-methods.js';
import { directCall, HandlerPipeline, type Invoke } from './handler-pipeline.js';
import { BODY, enhancersOf, isEnhanced, isFiltered, parametersOf } from './nest-metadata.js';
import { isError } from '../../checks/kinds.js';
import { CONTEXT_TYPE } from './delay-queue-context.js';
import { ConfigurationError } from '../../errors/options.errors.js';

/**
 * Nest creates guards, interceptors, pipes and filters that are bound as classes only if it creates the class they are bound to. Otherwise
 * it leaves them out silently, and a guard that does not run refuses nothing.
 *
 * @throws ConfigurationError if a class that Nest has not created is bound to the handler
 */
function assertBoundClassesAreMade(handler: DecoratedMethod<unknown>): void {
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
 * Checks the parameters. If any is decorated, Nest fills only decorated ones, and there is no request here.
 *
 * @returns whether any parameter is decorated
 * @throws ConfigurationError for a parameter that would be `undefined`
 */
function checkParameters(handler: DecoratedMethod<unknown>): boolean {
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

/** Message of Nest's exception for a guard that returned `false`. */
const REFUSAL = 'Forbidden resource';

/** Its status: that of `ForbiddenException`. */
const FORBIDDEN = 403;

/** Guard that was called last before an error was thrown, by the error. */
const guards = new WeakMap<object, CanActivate>();

type GuardsFn = (args: unknown[]) => Promise<void>;

/** Returns a creator whose calls remember the guard that refused, which Nest does not reveal. */
function rememberingGuards(creator: ExternalContextCreator): ExternalContextCreator {
  const createGuardsFn: ExternalContextCreator['createGuardsFn'] = (bound: CanActivate[], ...rest) => {
    if (bound.length === 0) return null;
    return async (args: unknown[]): Promise<void> => {
      let asked: CanActivate | undefined;
      const watched = bound.map((guard) => ({
        canActivate: (context: ExecutionContext) => {
          asked = guard;
          return guard.canActivate(context);
        },
      }));
      const activate = creator.createGuardsFn(watched, ...rest) as GuardsFn;
      try {
        await activate(args);
      } catch (error) {
        if (asked && isRefusal(error)) guards.set(error, asked);
        throw error;
      }
    };
  };
  return Object.create(creator, { createGuardsFn: { value: createGuardsFn } }) as ExternalContextCreator;
}

export function isRefusal(error: unknown): error is Error {
  // The application can have another copy of Nest, or a bundler that shortens class names.
  return isError(error) && error.message === REFUSAL && statusOf(error) === FORBIDDEN;
}

/** Returns the status that a Nest exception answers a request with. */
function statusOf(error: Error & { readonly getStatus?: unknown }): unknown {
  return typeof error.getStatus === 'function' ? error.getStatus() : undefined;
}

/** Describes which guard refused, and what to do if it should not have. */
function describeRefusal(refusal: Error): string {
  const name = guards.get(refusal)?.constructor.name;
  const guard = name === undefined || name === '' || name === 'Object' ? 'A guard' : `The guard ${name}`;
  return (
    `${guard} refused the message. If it is meant for requests only, let it answer true if context.getType() is ` +
    `'${CONTEXT_TYPE}'.`
  );
}

/** Creates the functions that call handlers, with the right instance and enhancers. */
@Injectable()
export class HandlerFactory {
  constructor(
    private readonly creator: ExternalContextCreator,
    private readonly application: ApplicationConfig,
  ) {}

  /** @throws ConfigurationError for parameters that could not be filled, and for guards and other enhancers that would not run */
  create(handler: DecoratedMethod<unknown>, onRefusal: NonNullable<HandlerOptions['onRefusal']>): Invoke {
    const { wrapper, type, name, method } = handler;
    assertBoundClassesAreMade(handler);
    const decorated = checkParameters(handler);
    const filtered = isFiltered(type) || isFiltered(method) || this.#isFilteredGlobally();
    const enhanced = decorated || filtered || isEnhanced(type) || isEnhanced(method) || this.#isEnhancedGlobally();
    const pipeline = enhanced ? new HandlerPipeline(rememberingGuards(this.creator), handler, filtered) : undefined;
    const around = (instance: object, contextId?: ContextId): Invoke =>
      pipeline ? pipeline.around(instance, contextId) : directCall(instance, name);
    const invoke = isStatic(wrapper) ? around(wrapper.instance as object) : perDelivery(wrapper, around);
    return enhanced ? refusing(invoke, onRefusal) : invoke;
  }

  #isEnhancedGlobally(): boolean {
    const { application } = this;
    return [
      application.getGlobalGuards(),
      application.getGlobalInterceptors(),
      application.getGlobalRequestGuards(),
      application.getGlobalRequestInterceptors(),
    ].some(({ length }) => length > 0);
  }

  #isFilteredGlobally(): boolean {
    const { application } = this;
    return application.getGlobalFilters().length + application.getGlobalRequestFilters().length > 0;
  }
}

/** Whether one instance serves all deliveries: neither the class, nor its dependencies, nor its enhancers are scoped. */
function isStatic(wrapper: InstanceWrapper): boolean {
  return !wrapper.isTransient && wrapper.isDependencyTreeStatic();
}

/** Creates an instance for each delivery. For request-scoped classes the message is the `REQUEST`. */
function perDelivery(wrapper: InstanceWrapper, around: (instance: object, contextId: ContextId) => Invoke): Invoke {
  const moduleRef = wrapper.host?.providers.get(ModuleRef)?.instance as ModuleRef;
  const isDurable = wrapper.isDependencyTreeDurable();
  return async (payload, message, outlived) => {
    const request = message as object;
    const contextId: ContextId = ContextIdFactory.getByRequest(request);
    // As Nest does for HTTP: a durable tree sees only the payload of a strategy for durable providers; for others that is part of the
    // request.
    moduleRef.registerRequestByContextId(
      isDurable ? contextId.payload : Object.assign(request, contextId.payload),
      contextId,
    );
    const instance = await moduleRef.resolve<object>(wrapper.token as never, contextId, { strict: true });
    return around(instance, contextId)(payload, message, outlived);
  };
}

function refusing(invoke: Invoke, onRefusal: NonNullable<HandlerOptions['onRefusal']>): Invoke {
  return async (payload, message, outlived) => {
    try {
      return await invoke(payload, message, outlived);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (onRefusal === 'ack') return undefined;
      const Refused = onRefusal === 'retry' ? ForbiddenException : UnrecoverableError;
      throw new Refused(describeRefusal(error), { cause: error });
    }
  };
}
