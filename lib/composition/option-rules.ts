import { MAX_BATCH } from '../store/partition.js';
import { MAX_ATTEMPTS, MIN_LEASE } from '../checks/limits.js';
import { type Rule, duration, integer, orElse } from '../checks/rules.js';
import { type Backoff, resolveStoredBackoff } from '../messages/backoff.js';
import { type PayloadSerializer, assertSerializer } from '../messages/serializer.js';
import type { ActiveBackoff } from '../fleet/topic-settings.interface.js';

// Rules for options that connections and handlers share.

/** Most handler calls at once, in a process and of a handler. */
export const CONCURRENCY = integer(1, 100_000);

/** Most messages of one handler call, at most as many as one call of the broker can carry. */
export const HANDLER_BATCH = integer(1, MAX_BATCH);

export const ATTEMPTS = integer(1, MAX_ATTEMPTS);

export const BACKOFF: Rule<Backoff, ActiveBackoff> = (name, backoff) =>
  typeof backoff === 'function' ? backoff : resolveStoredBackoff(name, backoff);

export const LEASE = duration(MIN_LEASE);

/** Time limit. */
export const LIMIT = duration(1);

/** Time limit of a call of the producer or the admin: at most half of the time for which Redis remembers its answer. */
export const CALL_TIMEOUT = orElse(duration(1, 60_000), 5000);

export const SERIALIZER: Rule<PayloadSerializer, PayloadSerializer> = (name, serializer) => {
  assertSerializer(name, serializer);
  return serializer;
};
