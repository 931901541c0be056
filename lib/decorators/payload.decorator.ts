import { Body, type PipeTransform, type Type } from '@nestjs/common';

type Pipe = Type<PipeTransform> | PipeTransform;

/**
 * Marks the parameter of a handler that takes the payload, or one of its properties, so that pipes can be bound to it. With
 * `batch` it takes the payloads of all messages. If one parameter of a handler is marked, all have to be.
 *
 * @example
 * ```ts
 * @DelayedHandler('order.timeout')
 * async onTimeout(@Payload(new ValidationPipe()) timeout: OrderTimeoutDto, @Message() message: DelayedMessage) {}
 * ```
 *
 * @publicApi
 */
export function Payload(...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator;
export function Payload(property: string, ...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator;
export function Payload(...propertyAndPipes: (string | Pipe)[]): ParameterDecorator {
  // To pipes, a payload is like a body: it comes from outside and has to be checked.
  return Body(...(propertyAndPipes as Pipe[]));
}
