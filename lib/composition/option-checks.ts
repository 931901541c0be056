import { MAX_BATCH } from '../broker/broker.interface.js';
import { MAX_DELAY } from '../checks/limits.js';
import { type Backoff, resolveStoredBackoff } from '../messages/backoff.js';
import { type PayloadSerializer, assertSerializer } from '../messages/serializer.js';
import { parseDuration } from '../time/duration.js';
import type { ActiveBackoff } from '../fleet/topic-settings.interface.js';

// Checks of options that connections and handlers have in common. All throw InvalidArgumentError.

/** Most handler calls at once, in a process and of a handler. */
export const MAX_CONCURRENCY = 100_000;

/** Most messages of one handler call: as many as one call of the broker can carry. */
export const MAX_HANDLER_BATCH = MAX_BATCH;

export function resolveBackoff(name: string, backoff: Backoff): ActiveBackoff {
  return typeof backoff === 'function' ? backoff : resolveStoredBackoff(name, backoff);
}

/** If it were below a second, a garbage collection could cost a lease. */
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
