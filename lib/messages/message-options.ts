import { MAX_ATTEMPTS, MAX_DELAY } from '../checks/limits.js';
import { assertInteger } from '../checks/validate.js';
import { parseDuration } from '../time/duration.js';
import { resolveStoredBackoff } from './backoff.js';
import { encodeEnvelope } from './envelope.js';
import type { PublishOptions } from './publish-options.interface.js';
import type { StoredPayload } from './serializer.js';

/** The options of a message that are stored in its envelope. */
export type MessageOptions = Pick<PublishOptions, 'attempts' | 'backoff' | 'timeout' | 'expireAfter' | 'headers'>;

/**
 * Checks the options of a message, but for its headers, and encodes them with its payload.
 *
 * @param publishedAt the broker's clock, epoch milliseconds
 * @param tags checked
 * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError
 */
export function toEnvelope(
  { payload, serialized }: StoredPayload,
  { attempts, backoff, timeout, expireAfter, headers }: MessageOptions,
  publishedAt: number,
  tags?: readonly string[],
): string {
  if (attempts !== undefined) assertInteger('attempts', attempts, { min: 1, max: MAX_ATTEMPTS });
  return encodeEnvelope({
    payload,
    serialized,
    publishedAt,
    headers,
    tags,
    attempts,
    backoff: backoff === undefined ? undefined : resolveStoredBackoff('backoff', backoff),
    timeout: optionalDuration('timeout', timeout),
    expireAfter: optionalDuration('expireAfter', expireAfter),
  });
}

function optionalDuration(name: string, value: unknown): number | undefined {
  return value === undefined ? undefined : parseDuration(name, value, { min: 1, max: MAX_DELAY });
}
