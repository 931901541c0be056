import { parseDuration } from '../time/duration.js';
import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';
import { type Backoff, resolveStoredBackoff } from '../messages/backoff.js';
import { MAX_DELAY } from '../checks/limits.js';
import { type PayloadSerializer, assertSerializer } from '../messages/serializer.js';
import type { ActiveBackoff } from '../topics/topic-settings.interface.js';

/** Most handler calls at once, in a process and of a handler. */
export const MAX_CONCURRENCY = 100_000;

export function resolveBackoff(name: string, backoff: Backoff): ActiveBackoff {
  return typeof backoff === 'function' ? backoff : resolveStoredBackoff(name, backoff);
}

/** Below a second, a garbage collection could cost a lease. */
export function resolveLease(lease: unknown): number {
  return parseDuration('lease', lease, { min: 1000, max: MAX_DELAY });
}

export function optionalDuration(name: string, value: unknown): number | undefined {
  return value === undefined ? undefined : parseDuration(name, value, { min: 1, max: MAX_DELAY });
}

export function optionalSerializer(
  name: string,
  serializer: PayloadSerializer | undefined,
): PayloadSerializer | undefined {
  if (serializer !== undefined) assertSerializer(name, serializer);
  return serializer;
}

/** What is wrong with an option is an argument error to the checks, and a configuration error to the application. */
export function asConfiguration<T>(where: string, resolve: () => T): T {
  try {
    return resolve();
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new ConfigurationError(`${where}: ${error.message}`, { cause: error });
  }
}
