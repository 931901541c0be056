import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ScheduleContent, StoredSchedule } from '../store/schedules/schedule-records.js';
import { isPlainObject } from '../checks/kinds.js';
import { isWithin } from '../checks/validate.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { MAX_TIME, toDate } from '../time/date.js';
import { MIN_INTERVAL, type StoredRule } from './recurrence.js';
import type { Schedule, ScheduleRule } from './schedule.interface.js';
import type { Partition } from '../store/partition.js';
import { readablePart } from '../messages/envelope.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { OccurrenceSeries } from '../store/schedules/occurrence.js';
import { SEPARATOR, toStoredId } from '../messages/stored-id.js';

/** Returns the message id of an occurrence: the same in every process that publishes it. */
export function occurrenceId(schedule: string, time: number): string {
  return `${schedule}@${new Date(time).toISOString()}`;
}

/** Returns the id of a message that was requested; it differs from that of every regular occurrence. */
export function extraId(schedule: string, time: number, word: string): string {
  return `${occurrenceId(schedule, time)}/${word}`;
}

/** Does the same for a request that can be repeated: its operation has a name, and its message the same id each time. */
export function namedExtraId(schedule: string, operation: string): string {
  return `${schedule}@${operation}`;
}

/** Returns the parts that the stored ids of all messages of a schedule share. */
export function seriesOf(schedule: string, key: string): OccurrenceSeries {
  return { prefix: toStoredId(`${schedule}@`), suffix: SEPARATOR + key };
}

/**
 * Converts a stored schedule to the form that applications see.
 *
 * @param next its next occurrence, in epoch milliseconds
 */
export function toSchedule(
  { id, rule, key, catchUp, overlap, declared, state, stored }: ScheduleRecord,
  { topic, index }: Partition,
  serializer: PayloadSerializer | undefined,
  next: number | undefined,
): Schedule {
  const { payload, headers } = readablePart(topic, serializer, stored.envelope);
  return {
    id,
    topic,
    partition: index,
    key,
    payload,
    headers,
    every: 'every' in rule ? rule.every : undefined,
    cron: 'cron' in rule ? rule.cron : undefined,
    timeZone: 'cron' in rule ? rule.timeZone : undefined,
    startAt: optionalDate(rule.startAt),
    endAt: optionalDate(rule.endAt),
    catchUp,
    overlap,
    paused: state.paused,
    declared,
    next: optionalDate(next),
    last: optionalDate(state.last),
    missed: state.missed,
  };
}

function optionalDate(time: number | undefined): Date | undefined {
  return time === undefined ? undefined : toDate(time);
}

/** Progress of a schedule. Times are epoch milliseconds. */
export interface ScheduleState {
  readonly paused: boolean;
  /** Next occurrence; `undefined` while it is paused, and once it has ended. */
  readonly next: number | undefined;
  /** Latest occurrence that was published. */
  readonly last: number | undefined;
  readonly missed: number;
  /** Text that a later version has appended, unchanged. */
  readonly rest?: string;
}

/** Definition of a schedule: its rule and options. */
export interface DefinedSchedule {
  readonly rule: StoredRule;
  readonly catchUp: NonNullable<ScheduleRule['catchUp']>;
  readonly overlap: NonNullable<ScheduleRule['overlap']>;
  /** Key of its messages. */
  readonly key: string;
  readonly declared: boolean;
  /** Further fields that a later version has stored. */
  readonly others?: Readonly<Record<string, unknown>>;
}

/** A schedule as read from Redis. */
export interface ScheduleRecord extends DefinedSchedule {
  readonly id: string;
  /** Stored form of the schedule. */
  readonly stored: StoredSchedule;
  readonly state: ScheduleState;
}

/** Length of the random word of each write, which tells states with the same times apart. */
const REVISION_BYTES = 9;

const NONE = '-';
const STATE = /^[\w-]{1,40} (active|paused) (-|\d{1,16}) (-|\d{1,16}) (\d{1,15})( [^\n]*)?$/;

/** Encodes a state: a random word, whether it is paused, the next and the latest occurrence, the number of missed ones. */
export function encodeState({ paused, next, last, missed, rest = '' }: ScheduleState): string {
  const revision = randomBytes(REVISION_BYTES).toString('base64url');
  return `${revision} ${paused ? 'paused' : 'active'} ${next ?? NONE} ${last ?? NONE} ${missed}${rest}`;
}

export function encodeDefinition({ rule, catchUp, overlap, key, declared, others }: DefinedSchedule): string {
  return JSON.stringify({ ...rule, catchUp, overlap, key, declared, ...others });
}

/**
 * Reads a schedule.
 *
 * @throws SerializationError if it was not written by {@link encodeState} and {@link encodeDefinition}
 */
export function readSchedule(stored: StoredSchedule): ScheduleRecord {
  const state = decodeState(stored.state);
  const definition = decodeDefinition(stored.definition);
  if (state && definition) return { id: stored.id, stored, state, ...definition };
  throw new SerializationError(`Schedule '${stored.id}' cannot be read. Another program may have written over it.`);
}

/** Whether both lead to the same messages. The publish time at the start of an envelope is not compared. */
export function isSameContent(a: ScheduleContent, b: ScheduleContent): boolean {
  const isSame = a.definition === b.definition || isDeepStrictEqual(parse(a.definition), parse(b.definition));
  return isSame && behindTime(a.envelope) === behindTime(b.envelope);
}

function behindTime(envelope: string): string {
  return envelope.slice(envelope.indexOf(','));
}

function decodeState(text: string): ScheduleState | undefined {
  const [, status, next, last, missed, rest] = STATE.exec(text) ?? [];
  if (missed === undefined) return undefined;
  const times = [next, last].map((time) => (time === NONE ? undefined : Number(time)));
  if (times.some((time) => time !== undefined && time > MAX_TIME)) return undefined;
  const state = { paused: status === 'paused', next: times[0], last: times[1], missed: Number(missed) };
  return rest === undefined ? state : { ...state, rest };
}

function decodeDefinition(text: string): DefinedSchedule | undefined {
  const parsed = parse(text);
  if (!isPlainObject(parsed)) return undefined;
  const { catchUp, overlap, key, declared, ...rest } = parsed;
  const { rule, others } = ruleOf(rest);
  const isKnown =
    (catchUp === 'none' || catchUp === 'latest' || catchUp === 'all') && (overlap === 'allow' || overlap === 'skip');
  if (!rule || !isKnown || typeof key !== 'string' || typeof declared !== 'boolean') return undefined;
  const known: DefinedSchedule = { rule, catchUp, overlap, key, declared };
  return Object.keys(others).length > 0 ? { ...known, others } : known;
}

function ruleOf({ every, anchor, cron, timeZone, startAt, endAt, ...others }: Record<string, unknown>): {
  readonly rule: StoredRule | undefined;
  readonly others: Record<string, unknown>;
} {
  const bounds = isOptionalTime(startAt) && isOptionalTime(endAt) ? { startAt, endAt } : undefined;
  let rule: StoredRule | undefined;
  if (bounds && isWithin(every, MIN_INTERVAL, MAX_TIME) && isWithin(anchor, 0, MAX_TIME)) {
    rule = { every, anchor, ...bounds };
  } else if (bounds && typeof cron === 'string' && typeof timeZone === 'string') {
    rule = { cron, timeZone, ...bounds };
  }
  return { rule, others };
}

function isOptionalTime(value: unknown): value is number | undefined {
  return value === undefined || isWithin(value, 0, MAX_TIME);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
