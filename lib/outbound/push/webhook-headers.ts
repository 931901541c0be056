import { createHash } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import { VERSION } from '../../version.js';
import type { PushTarget } from './push-target.js';

/** What is set for each request, or belongs to the connection. */
const RESERVED = [
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

const RESERVED_PREFIXES = ['webhook-', 'delay-queue-', 'proxy-'];

/** Headers of messages that receivers know under this name; all others get a prefix, so that no publisher can forge one. */
const TRACE_HEADERS = ['traceparent', 'tracestate'];

/** Whether an application must not set a header itself. */
export function isReserved(header: string): boolean {
  const name = header.toLowerCase();
  return RESERVED.includes(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/**
 * The headers of a request: those of Standard Webhooks, and what is known of the message.
 *
 * @param now epoch milliseconds
 */
export function webhookHeaders(
  { headers, signer }: Pick<PushTarget, 'headers' | 'signer'>,
  message: DelayedMessage,
  { body, now }: { readonly body: string; readonly now: number },
): OutgoingHttpHeaders {
  const id = webhookId(message);
  const timestamp = Math.floor(now / 1000);
  return {
    'user-agent': `nestjs-delay-queue/${VERSION}`,
    ...messageHeaders(message),
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signer.sign(id, timestamp, body),
    'delay-queue-topic': message.topic,
    'delay-queue-id': escaped(message.id),
    'delay-queue-key': escaped(message.key),
    'delay-queue-attempt': String(message.attempt),
    'delay-queue-due-at': message.dueAt.toISOString(),
  };
}

/**
 * The same for all deliveries of a message, so that receivers know it again. Somebody who publishes under the same id later publishes another
 * message, so the time of publishing counts as well.
 */
export function webhookId({ topic, key, id, publishedAt }: DelayedMessage): string {
  const text = JSON.stringify([topic, key, id, publishedAt.getTime()]);
  return `msg_${createHash('sha256').update(text).digest('base64url').slice(0, 32)}`;
}

/** Names that differ by their case alone are one name to HTTP, with a line for each value. */
function messageHeaders({ headers }: DelayedMessage): Record<string, string[]> {
  const lines: Record<string, string[]> = {};
  for (const [header, value] of Object.entries(headers)) {
    const lower = header.toLowerCase();
    const name = TRACE_HEADERS.includes(lower) ? lower : `delay-queue-header-${escaped(lower, NO_TOKEN).toLowerCase()}`;
    (lines[name] ??= []).push(escaped(value));
  }
  return lines;
}

/** What the value of a header cannot have, and what would not be clear after it was escaped. */
const NO_VALUE = /[^\x20-\x7e]|%|^ | $/gu;

/** The same for the name of a header. */
const NO_TOKEN = /[^\w!#$&'*+.^`|~-]/gu;

function escaped(text: string, pattern = NO_VALUE): string {
  return text.replaceAll(pattern, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}
