import type { DelayedMessage } from '../message/delayed-message.interface.js';

/** A method that handles one message a call. */
type HandlerMethod<P> = (payload: P, message: DelayedMessage<P>) => unknown;

/** A method that handles several messages a call. */
type BatchHandlerMethod<P> = (payloads: P[], messages: DelayedMessage<P>[]) => unknown;

/** `B` is what the options say of `batch`: nothing, how many, or some number that is known at run time only. */
type MethodFor<P, B extends number | undefined> = [B] extends [undefined]
  ? HandlerMethod<P>
  : number extends B
    ? HandlerMethod<P> | BatchHandlerMethod<P>
    : BatchHandlerMethod<P>;

/**
 * Decorates methods that can be called with a payload `P`, and where the compiler does not know it, any method. Private and
 * protected ones too: what is compared is the method itself, not a property of the class.
 */
export type HandlerDecorator<P, B extends number | undefined> = unknown extends P
  ? MethodDecorator
  : <M extends MethodFor<P, B>>(
      target: object,
      property: string | symbol,
      descriptor: TypedPropertyDescriptor<M>,
    ) => void;
