import { inspect, isDeepStrictEqual } from 'node:util';
import type { MessageDetails } from '../admin/index.js';
import { isPlainObject } from '../checks/kinds.js';
import type { Failure } from '../messages/failure.js';
import type { Schedule } from '../schedules/schedule.interface.js';

/**
 * Message or schedule that a payload belongs to.
 *
 * @publicApi
 */
export interface RedactedPlace {
  readonly topic: string;
  /** Id of the message or of the schedule. */
  readonly id: string;
}

/**
 * Returns the part of a payload that can be shown.
 *
 * @publicApi
 */
export type DashboardRedact = (payload: unknown, place: RedactedPlace) => unknown;

/** Leaves nothing, for a viewer who is not allowed to see payloads. */
export const NO_PAYLOADS: DashboardRedact = () => undefined;

/** Placeholder for a payload that cannot be shown because `redact` has failed. */
const HIDDEN = '(hidden: redact has failed)';

/** Format of values that JSON cannot hold; bounds keep one large value from filling the page. */
const IN_WORDS = { depth: 8, maxArrayLength: 100, maxStringLength: 10_000 } as const;

/** A payload as the browser gets it. */
interface ShownPayload {
  /** Payload that JSON can hold; `undefined` if this process cannot decode it, or nothing of it can be shown. */
  readonly payload: unknown;
  readonly redacted: boolean;
  /** Whether the browser has all of it, so that storing what it shows would change nothing. */
  readonly editable: boolean;
}

/** A message as the browser gets it: never with the stored envelope, which has its payload. */
export type ShownMessage = Omit<MessageDetails, 'raw' | 'payload'> & ShownPayload;

/** A schedule as the browser gets it. */
export type ShownSchedule = Omit<Schedule, 'payload'> & ShownPayload;

/** The parts of an answer whose payload is not redacted. */
export type Unredacted<T> = T extends ShownPayload | Failure | Date
  ? never
  : T extends { readonly payload: unknown }
    ? T
    : T extends readonly (infer E)[]
      ? Unredacted<E>
      : T extends object
        ? { [K in keyof T]-?: Unredacted<T[K]> }[keyof T]
        : never;

export function shownMessage(
  { raw: _raw, ...message }: MessageDetails,
  redact: DashboardRedact | undefined,
): ShownMessage {
  return { ...message, ...shownPayload(message.payload, message, redact) };
}

export function shownSchedule(schedule: Schedule, redact: DashboardRedact | undefined): ShownSchedule {
  return { ...schedule, ...shownPayload(schedule.payload, schedule, redact) };
}

function shownPayload(stored: unknown, place: RedactedPlace, redact: DashboardRedact | undefined): ShownPayload {
  // `redact` would take `undefined` for a payload of its topic, and the browser would take it for one that is there.
  if (stored === undefined) return { payload: undefined, redacted: false, editable: false };
  const { payload, redacted } = redactedPayload(stored, place, redact);
  const shown = payload === undefined ? undefined : inJson(payload);
  return { payload: shown, redacted, editable: !redacted && isDeepStrictEqual(shown, payload) };
}

function redactedPayload(
  payload: unknown,
  { topic, id }: RedactedPlace,
  redact: DashboardRedact | undefined,
): { payload: unknown; redacted: boolean } {
  if (!redact) return { payload, redacted: false };
  try {
    // It can change its argument.
    const shown = redact(structuredClone(payload), { topic, id });
    return { payload: shown, redacted: !isDeepStrictEqual(shown, payload) };
  } catch {
    return { payload: HIDDEN, redacted: true };
  }
}

/** Returns a copy that JSON can hold. Values of a serializer or `redact` that it cannot hold, such as a `BigInt` or a `Map`, become text. */
function inJson(payload: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(payload, (_name, value: unknown) => (isOfJson(value) ? value : inWords(value))));
  } catch {
    // It contains itself, or JSON has no form at all for it.
    return inWords(payload);
  }
}

/** Whether JSON keeps a value, or leaves it out of an object as it does with `undefined`. */
function isOfJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'object') return value === null || Array.isArray(value) || isPlainObject(value);
  return typeof value !== 'bigint';
}

function inWords(value: unknown): string {
  return inspect(value, IN_WORDS);
}
