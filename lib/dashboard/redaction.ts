import { inspect, isDeepStrictEqual } from 'node:util';
import type { MessageDetails } from '../admin/index.js';
import { isPlainObject } from '../checks/kinds.js';
import type { Failure } from '../messages/failure.js';
import type { Schedule } from '../schedules/schedule.interface.js';

/**
 * What a payload belongs to.
 *
 * @publicApi
 */
export interface RedactedPlace {
  readonly topic: string;
  /** Of the message, or of the schedule. */
  readonly id: string;
}

/**
 * Returns what may be shown of a payload.
 *
 * @publicApi
 */
export type DashboardRedact = (payload: unknown, place: RedactedPlace) => unknown;

/** Leaves nothing, for a viewer who may not see payloads. */
export const NO_PAYLOADS: DashboardRedact = () => undefined;

/** Stands for a payload of which nothing may be shown, since `redact` has failed. */
const HIDDEN = '(hidden: redact has failed)';

/** How what JSON cannot hold is written; bounds keep one large value from filling the page. */
const IN_WORDS = { depth: 8, maxArrayLength: 100, maxStringLength: 10_000 } as const;

/** What the browser gets of a payload. */
interface ShownPayload {
  /** As JSON can hold it; `undefined` if this process cannot decode what is stored, or nothing of it may be shown. */
  readonly payload: unknown;
  readonly redacted: boolean;
  /** Whether the browser has all of it, so that storing what it shows would change nothing. */
  readonly editable: boolean;
}

/** What the browser gets of a message: never the stored envelope, which has its payload. */
export type ShownMessage = Omit<MessageDetails, 'raw' | 'payload'> & ShownPayload;

/** What the browser gets of a schedule. */
export type ShownSchedule = Omit<Schedule, 'payload'> & ShownPayload;

/** The parts of an answer whose payload is as it is stored. */
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
  // `redact` would take nothing for a payload of its topic, and the browser for one that is there.
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
    // It may change what it is given.
    const shown = redact(structuredClone(payload), { topic, id });
    return { payload: shown, redacted: !isDeepStrictEqual(shown, payload) };
  } catch {
    return { payload: HIDDEN, redacted: true };
  }
}

/** A copy that JSON can hold. A serializer or `redact` may have made what it cannot, such as a `BigInt` or a `Map`: that becomes text. */
function inJson(payload: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(payload, (_name, value: unknown) => (isOfJson(value) ? value : inWords(value))));
  } catch {
    // It contains itself, or JSON has nothing at all for it.
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
