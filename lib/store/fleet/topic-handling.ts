import { fromJson } from '../stored-json.js';
import { isPlainObject } from '../../checks/kinds.js';
import { MAX_ATTEMPTS } from '../../checks/limits.js';
import { isWithin } from '../../checks/validate.js';
import { type ResolvedBackoff, decodeBackoff, encodeBackoff } from '../../messages/backoff.js';
import type { RetentionLimits } from '../dead-letters/retention.js';

/**
 * Settings with which a topic is handled, for receivers of its messages that have none of their own. A missing member has its default.
 * Times in milliseconds.
 */
export interface TopicHandling {
  readonly attempts?: number | undefined;
  readonly backoff?: ResolvedBackoff | undefined;
  readonly expireAfter?: number | undefined;
  readonly delivery?: 'at-most-once' | undefined;
  readonly deadLetter?: RetentionLimits | undefined;
  readonly finished?: RetentionLimits | undefined;
  /** Whether the handling processes have one. */
  readonly serializer?: true | undefined;
}

/** Encodes as JSON without a space; empty for the defaults. */
export function encodeHandling({ backoff, ...handling }: TopicHandling = {}): string {
  const text = JSON.stringify({ ...handling, ...(backoff && { backoff: encodeBackoff(backoff) }) });
  return text === '{}' ? '' : text;
}

/** Decodes. A member that cannot be read counts as missing; members that a later version has added stay. */
export function decodeHandling(text: unknown): TopicHandling | undefined {
  const { attempts, backoff, expireAfter, delivery, deadLetter, finished, serializer, ...more } = membersOf(text);
  const known: TopicHandling = {
    attempts: isWithin(attempts, 1, MAX_ATTEMPTS) ? attempts : undefined,
    backoff: decodeBackoff(backoff),
    expireAfter: isWithin(expireAfter, 1, Infinity) ? expireAfter : undefined,
    delivery: delivery === 'at-most-once' ? delivery : undefined,
    deadLetter: retentionOf(deadLetter),
    finished: retentionOf(finished),
    serializer: serializer === true ? serializer : undefined,
  };
  const handling = Object.fromEntries(Object.entries({ ...more, ...known }).filter(([, one]) => one !== undefined));
  return Object.keys(handling).length === 0 ? undefined : handling;
}

function membersOf(text: unknown): Readonly<Record<string, unknown>> {
  const value = fromJson(text);
  return isPlainObject(value) ? value : {};
}

function retentionOf(stored: unknown): RetentionLimits | undefined {
  if (!isPlainObject(stored)) return undefined;
  const { maxAge, maxCount } = stored;
  const limits = {
    ...(isWithin(maxAge, 1, Infinity) && { maxAge }),
    ...(isWithin(maxCount, 0, Infinity) && { maxCount }),
  };
  return Object.keys(limits).length === 0 ? undefined : limits;
}
