import { type ExecutionContext, type PipeTransform, type Type, createParamDecorator } from '@nestjs/common';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import { pick } from './pick.js';

type Pipe = Type<PipeTransform> | PipeTransform;

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
