import { Body, type ExecutionContext, type PipeTransform, type Type, createParamDecorator } from '@nestjs/common';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';

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

const MessageParameter = createParamDecorator((property: unknown, context: ExecutionContext): unknown => {
  const message = context.getArgByIndex<unknown>(1);
  return pick(message, property, Array.isArray(message));
});

/**
 * Marks the parameter of a handler that takes the message, or one of its properties. With `batch` it takes all messages.
 *
 * @example
 * ```ts
 * @DelayedHandler('order.timeout')
 * async onTimeout(@Payload() timeout: OrderTimeout, @Message('headers') headers: Record<string, string>) {}
 * ```
 *
 * @publicApi
 */
export function Message(...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator;
export function Message(
  property: keyof DelayedMessage,
  ...pipes: (Type<PipeTransform> | PipeTransform)[]
): ParameterDecorator;
export function Message(property?: string | Pipe, ...pipes: Pipe[]): ParameterDecorator {
  return MessageParameter(property, ...pipes);
}

/** Returns a property of a value, or of each value of a batch; the value itself if no property is given. */
export function pick(value: unknown, property: unknown, isBatch: boolean): unknown {
  if (typeof property !== 'string') return value;
  if (isBatch) return (value as readonly unknown[]).map((each) => pick(each, property, false));
  return (value as Record<string, unknown> | null | undefined)?.[property];
}
