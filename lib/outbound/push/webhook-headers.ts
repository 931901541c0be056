import { createHash } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import { VERSION } from '../../version.js';
import type { PushTarget } from './push-target.js';

/** Headers that are set for each request, or belong to the connection. */
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

/** Whether an application is not allowed to set a header itself. */
export function isReserved(header: string): boolean {
  const name = header.toLowerCase();
  return RESERVED.includes(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/**
 * Returns the headers of a request: those of Standard Webhooks, and those that describe the message.
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
 * Returns an id that is the same for all deliveries of a message, so that receivers recognize it. A later publish under the same id is
 * another message, so the publish time counts as well.
 */
export function webhookId({ topic, key, id, publishedAt }: DelayedMessage): string {
  const text = JSON.stringify([topic, key, id, publishedAt.getTime()]);
  return `msg_${createHash('sha256').update(text).digest('base64url').slice(0, 32)}`;
}

/** HTTP treats names that differ only by case as one name, with a line for each value. */
function messageHeaders({ headers }: DelayedMessage): Record<string, string[]> {
  const lines: Record<string, string[]> = {};
  for (const [header, value] of Object.entries(headers)) {
    const lower = header.toLowerCase();
    const name = TRACE_HEADERS.includes(lower) ? lower : `delay-queue-header-${escaped(lower, NO_TOKEN).toLowerCase()}`;
    (lines[name] ??= []).push(escaped(value));
  }
  return lines;
}

/** Characters that a header value cannot have, and those that would be ambiguous after escaping. */
const NO_VALUE = /[^\x20-\x7e]|%|^ | $/gu;

/** Same for the name of a header. */
const NO_TOKEN = /[^\w!#$&'*+.^`|~-]/gu;

function escaped(text: string, pattern = NO_VALUE): string {
  return text.replaceAll(pattern, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}
