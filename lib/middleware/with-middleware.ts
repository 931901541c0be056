import { type Layer, runWithin } from './layers.js';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { DelayQueueMiddleware } from './middleware.interface.js';
import type { MessageHandler } from '../consumer/message-handler.interface.js';

type HandleLayer = Layer<readonly DelayedMessage[], unknown>;

/** A handler whose calls go through the middleware; the handler itself where none of it concerns handling. */
export function withMiddleware(handler: MessageHandler, middleware: readonly DelayQueueMiddleware[]): MessageHandler {
  const layers = middleware.flatMap((one, i): HandleLayer[] =>
    one.handle ? [{ name: `middleware[${i}].handle`, call: one.handle.bind(one) }] : [],
  );
  if (layers.length === 0) return handler;
  return { ...handler, handle: (messages) => runWithin(layers, messages, async () => handler.handle(messages)) };
}
