import { createHash } from 'node:crypto';
import type { Failure } from '../messages/failure.js';

/** Most characters of a message that distinguish one kind of failure from another. */
const MAX_PATTERN_LENGTH = 300;

/** Patterns for what differs from case to case, in the order in which they are replaced. */
const VARIABLES: readonly (readonly [RegExp, string])[] = [
  [/(?<!\w)(?:'[^']*'|"[^"]*"|`[^`]*`)(?!\w)/g, '<text>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<uuid>'],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b/gi, '<hex>'],
  [/(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '<email>'],
  // A nanoid, or base64 in URLs: capitals within a part distinguish it from names with hyphens.
  [/(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z\d][A-Z])[\w-]{16,}(?![\w-])/g, '<id>'],
  // Such as a ULID, or `req_` and a provider's random part.
  [/\b(?=\w*\d)(?=\w*[a-z])\w{12,}\b/gi, '<id>'],
  [/\b[a-z]{2,10}_(?=[a-z]*[A-Z])[A-Za-z0-9]{12,}\b/g, '<id>'],
  [/\d+(?:[.,]\d+)*/g, '<n>'],
  [/\s+/g, ' '],
];

/** Returns an error's message with placeholders for what differs from case to case, so that equal failures have equal texts. */
export function patternOf(message: string): string {
  let pattern = message;
  for (const [variable, placeholder] of VARIABLES) pattern = pattern.replace(variable, placeholder);
  return pattern.trim().slice(0, MAX_PATTERN_LENGTH);
}

/** Names the kind of a failure by its reason, name, code and the pattern of its message; 16 hexadecimal digits. */
export function fingerprintOf({ reason, name, code = '', message }: Failure): string {
  const kind = [reason, name, code, patternOf(message)].join('\0');
  return createHash('sha256').update(kind).digest('hex').slice(0, 16);
}
