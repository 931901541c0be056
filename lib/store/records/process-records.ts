import { fromJson } from '../stored-json.js';
import { isPlainObject } from '../../checks/kinds.js';
import { MAX_PARTITIONS } from '../../checks/limits.js';
import { isWithin } from '../../checks/validate.js';
import { isConsumer } from '../../messages/consumer-name.js';
import { isName } from '../../messages/topic.js';
import { MAX_TIME } from '../../time/date.js';

// Reports of processes for those who look at the fleet. Nothing that happens to a message depends on them.

/** State of a process, at its latest report. */
export interface ProcessState {
  /** Time at which it joined the fleet, epoch milliseconds on the broker's clock. */
  readonly since: number;
  /** Version of this library. */
  readonly version: string;
  /** The broker's clock minus that of its machine, in milliseconds. */
  readonly clockOffset: number;
  /** Most handler calls at once. */
  readonly concurrency: number;
  /** Number of handler calls that ran. */
  readonly busy: number;
  /** Number of its partitions that waited for a handler call to end, or for Redis to have room. */
  readonly waiting: number;
  /** Topics whose handlers it cannot call, since their permits run out before it can. */
  readonly starved?: readonly string[];
  /** Present if it publishes its events for the fleet. */
  readonly fleetEvents?: true;
  /** Receivers of messages from it, current and recent ones; at most {@link MAX_REPORTED_RECEIVERS}. */
  readonly receivers?: readonly ReportedReceiver[];
}

/** A receiver of messages of a topic from a process. */
export interface ReportedReceiver {
  readonly topic: string;
  readonly consumer: string;
  /** Number of its calls that wait for messages. */
  readonly waiting: number;
  /** Number of messages that it has, as far as the process knows: given, not settled, and with a lease that lasts. */
  readonly holding: number;
  /** End of its latest call, epoch milliseconds on the broker's clock; left out while one waits. */
  readonly seenAt?: number;
}

/** Most receivers in a report; those that wait or have messages come first. */
export const MAX_REPORTED_RECEIVERS = 100;

/** Partitions that a process owns, for each topic that it handles. */
export type Holdings = Readonly<Record<string, readonly number[]>>;

/** Stored report of a process; `undefined` for a part that it has not reported, or that cannot be read. */
export interface ReportedProcess {
  readonly state: ProcessState | undefined;
  readonly holdings: Holdings | undefined;
}

export interface ProcessReport extends Partial<ReportedProcess> {
  readonly session: string;
  /** Number of the report: one that arrives after a later one changes nothing. */
  readonly number: number;
}

/** Work of a process for a topic in a minute, so far. */
export interface TopicWork {
  readonly topic: string;
  readonly delivered: number;
  readonly acked: number;
  readonly retried: number;
  readonly dead: number;
  /** Greatest lateness, in milliseconds. */
  readonly maxLateness: number;
  /** Lateness of messages when handed over: a bucket and its count, alternating; see `fleet/work-meter.ts`. */
  readonly lateness: readonly number[];
}

/** Most topics of one {@link WorkReport}. */
export const MAX_REPORTED_TOPICS = 200;

/** Most topics of a report with a history: adding to it takes some 50 µs a topic. */
export const MAX_REPORTED_WITH_HISTORY = 20;

/** Minutes for which work is kept, the one under way included. */
export const MINUTES_KEPT = 15;

export const MINUTE = 60_000;

export interface WorkReport {
  readonly session: string;
  /** As {@link ProcessReport.number}. */
  readonly number: number;
  /** Minutes since the epoch. */
  readonly minute: number;
  /** 1 to {@link MAX_REPORTED_TOPICS}. */
  readonly work: readonly TopicWork[];
  /** `undefined`: no history is kept. */
  readonly history?: HistorySettings | undefined;
}

/** Most spans of a history, the one under way included: with at most 400 bytes for a record and 128 for its topic, that is less than 64 KiB. */
export const MAX_SPANS = 97;

/** Settings for keeping the work of topics beyond {@link MINUTES_KEPT}. */
export interface HistorySettings {
  /** Minutes that are counted together. */
  readonly span: number;
  /** Time for which it is kept, in milliseconds. */
  readonly keep: number;
}

/** Work for a topic within a span of its history. */
export interface SpanOfWork extends TopicWork {
  /** Minute of its begin, since the epoch. */
  readonly minute: number;
  /** Its length, in minutes. */
  readonly span: number;
}

/** Report of a process on a minute. */
export interface ReportedWork extends TopicWork {
  readonly session: string;
}

// Reports of processes are stored as JSON, `[number, …]`, which the scripts compare by its number. One that cannot be read counts as missing:
// another program may have written it, or a later version.

/** Largest number in a report of any honest process. */
const MAX_COUNT = Number.MAX_SAFE_INTEGER;

const MAX_VERSION_LENGTH = 100;

const MAX_LATENESS_LENGTH = 1000;

export function encodeReport(number: number, report: ProcessState | Holdings): string {
  return JSON.stringify([number, report]);
}

export function decodeProcessState(text: string | null): ProcessState | undefined {
  const state = reportIn(text);
  if (!isPlainObject(state)) return undefined;
  const { since, version, clockOffset, concurrency, busy, waiting, starved = [], fleetEvents, receivers } = state;
  if (typeof version !== 'string' || version.length > MAX_VERSION_LENGTH) return undefined;
  if (!isWithin(since, 0, MAX_TIME) || !isWithin(clockOffset, -MAX_TIME, MAX_TIME)) return undefined;
  if (!isCount(concurrency) || !isCount(busy) || !isCount(waiting)) return undefined;
  if (!Array.isArray(starved) || !starved.every(isName)) return undefined;
  return {
    since,
    version,
    clockOffset,
    concurrency,
    busy,
    waiting,
    ...(starved.length > 0 && { starved }),
    ...(fleetEvents === true && { fleetEvents }),
    ...(Array.isArray(receivers) && { receivers: receivers.flatMap(receiversIn) }),
  };
}

/** Reads a receiver; empty if it is none. */
function receiversIn(value: unknown): ReportedReceiver[] {
  if (!isPlainObject(value)) return [];
  const { topic, consumer, waiting, holding, seenAt } = value;
  if (!isName(topic) || !isConsumer(consumer) || !isCount(waiting) || !isCount(holding)) return [];
  const seen = isWithin(seenAt, 0, MAX_TIME) ? { seenAt } : {};
  return [{ topic, consumer, waiting, holding, ...seen }];
}

export function decodeHoldings(text: string | null): Holdings | undefined {
  const holdings = reportIn(text);
  if (!isPlainObject(holdings)) return undefined;
  const isReadable = Object.entries(holdings).every(
    ([topic, partitions]) => isName(topic) && Array.isArray(partitions) && partitions.every(isIndex),
  );
  return isReadable ? (holdings as Holdings) : undefined;
}

export function encodeWork(number: number, work: TopicWork): string {
  const { delivered, acked, retried, dead, maxLateness, lateness } = work;
  return JSON.stringify([number, delivered, acked, retried, dead, rounded(maxLateness), lateness]);
}

/** @param field with session and topic */
export function decodeWork(field: string, text: string): ReportedWork | undefined {
  const [session = '', topic, ...rest] = field.split(' ');
  const work = rest.length === 0 && isName(topic) ? decodeTopicWork(topic, text) : undefined;
  return work && { session, ...work };
}

export function decodeTopicWork(topic: string, text: string | null): TopicWork | undefined {
  const [, delivered, acked, retried, dead, maxLateness, lateness] = listIn(text);
  if (!isLateness(lateness)) return undefined;
  if (!isCount(delivered) || !isCount(acked) || !isCount(retried) || !isCount(dead)) return undefined;
  if (!isWithin(maxLateness, 0, MAX_TIME)) return undefined;
  return { topic, delivered, acked, retried, dead, maxLateness, lateness };
}

function isLateness(counts: unknown): counts is number[] {
  return Array.isArray(counts) && counts.length <= MAX_LATENESS_LENGTH && counts.every(isCount);
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && isWithin(value, 0, MAX_COUNT);
}

function isIndex(value: unknown): boolean {
  return Number.isInteger(value) && isWithin(value, 0, MAX_PARTITIONS - 1);
}

function reportIn(text: string | null): unknown {
  return listIn(text)[1];
}

function listIn(text: string | null): readonly unknown[] {
  const list = fromJson(text);
  return Array.isArray(list) ? list : [];
}

/** Rounds to microseconds, which are fine enough. */
function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
