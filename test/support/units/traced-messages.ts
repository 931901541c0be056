import type { DelayedMessage, DelayQueueMiddleware, OutgoingMessage, PublishOptions } from 'nestjs-delay-queue';
import { deliveredMessage } from './delivered-message.js';

/** The functions of a middleware that has all three. */
export type FullMiddleware = Required<DelayQueueMiddleware>;

/** A payload that no span may show. */
export const SECRET = 'card 4111-1111';

/** The id of the span that a `traceparent` names. */
export function spanIdIn(headers: Readonly<Record<string, string>>): string | undefined {
  return headers['traceparent']?.split('-')[2];
}

export function outgoing(options: PublishOptions = {}): OutgoingMessage {
  return { topic: 'orders', payload: SECRET, options, headers: { ...options.headers } };
}

export function delivered(id: string, headers: Record<string, string> = {}, attempt = 1): DelayedMessage {
  return deliveredMessage({ id, key: id, partition: 3, payload: SECRET, headers, attempt });
}
