import type { DelayedMessage } from '../messages/delayed-message.interface.js';

/**
 * What a handler of payloads `P` is called with. `B` is the type of its option `batch`: `undefined`, a literal number, or a
 * `number` that is known at run time only.
 *
 * @publicApi
 */
export type HandlerMethodFor<P, B extends number | undefined> = [B] extends [undefined]
  ? (payload: P, message: DelayedMessage<P>) => unknown
  : | ((payloads: P[], messages: DelayedMessage<P>[]) => unknown)
    | (number extends B ? (payload: P, message: DelayedMessage<P>) => unknown : never);

/**
 * Decorates methods that can be called with a payload `P`; any method, if the compiler does not know `P`. Private and
 * protected ones too: the method itself is compared, not a property of the class.
 *
 * @publicApi
 */
export type HandlerDecorator<P, B extends number | undefined> = unknown extends P
  ? MethodDecorator
  : <M extends HandlerMethodFor<P, B>>(
      target: object,
      property: string | symbol,
      descriptor: TypedPropertyDescriptor<M>,
    ) => void;
