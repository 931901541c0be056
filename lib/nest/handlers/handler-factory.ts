import { ForbiddenException, Injectable } from '@nestjs/common';
import { ApplicationConfig, type ContextId, ContextIdFactory, ExternalContextCreator, ModuleRef } from '@nestjs/core';
import { UnrecoverableError } from '../../errors/handling.errors.js';
import type { HandlerOptions } from '../decorators/handler-options.interface.js';
import type { DecoratedMethod, InstanceWrapper } from './decorated-methods.js';
import { describeRefusal, isRefusal, rememberingGuards } from './guard-refusals.js';
import { assertBoundClassesAreMade, checkParameters } from './handler-checks.js';
import { HandlerPipeline, type Invoke, directCall } from './handler-pipeline.js';
import { isEnhanced, isFiltered } from './nest-metadata.js';

/** Makes the calls of handlers: on which instance, and with what around them. */
@Injectable()
export class HandlerFactory {
  constructor(
    private readonly creator: ExternalContextCreator,
    private readonly application: ApplicationConfig,
  ) {}

  /** @throws ConfigurationError for parameters that could not be filled, and for guards and the like that would not run */
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

/** Whether one instance serves all deliveries: neither the class, nor what it depends on, nor what is bound to it is scoped. */
function isStatic(wrapper: InstanceWrapper): boolean {
  return !wrapper.isTransient && wrapper.isDependencyTreeStatic();
}

/** Makes an instance for each delivery. To request-scoped classes the message is the `REQUEST`. */
function perDelivery(wrapper: InstanceWrapper, around: (instance: object, contextId: ContextId) => Invoke): Invoke {
  const moduleRef = wrapper.host?.providers.get(ModuleRef)?.instance as ModuleRef;
  const isDurable = wrapper.isDependencyTreeDurable();
  return async (payload, message, outlived) => {
    const request = message as object;
    const contextId: ContextId = ContextIdFactory.getByRequest(request);
    // As Nest does for HTTP: a durable tree sees only what a strategy for durable providers adds, and to others that is a part
    // of the request.
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
