import { fromJson } from '../stored-json.js';
import { isPlainObject } from '../../checks/kinds.js';
import { MAX_PARTITIONS } from '../../checks/limits.js';
import { isWithin } from '../../checks/validate.js';
import { isConsumer } from '../../messages/consumer-name.js';
import { isName } from '../../messages/topic.js';
import { MAX_TIME } from '../../time/date.js';

// What processes say of themselves for those who look at the fleet. Nothing that happens to a message depends on it.

/** How a process is, at its latest report. */
export interface ProcessState {
  /** When it joined the fleet, epoch milliseconds on the broker's clock. */
  readonly since: number;
  /** Of this library. */
  readonly version: string;
  /** The broker's clock minus that of its machine, in milliseconds. */
  readonly clockOffset: number;
  /** Most handler calls at once. */
  readonly concurrency: number;
  /** Handler calls that ran. */
  readonly busy: number;
  /** Of the partitions that it owns, those that waited for a handler call to end, or for Redis to have room. */
  readonly waiting: number;
  /** Topics of which it calls no handler, since what their limits permit is over before it can. */
  readonly starved?: readonly string[];
  /** Present if it publishes its events for the fleet. */
  readonly fleetEvents?: true;
  /** Those who receive messages from it, or did so lately; at most {@link MAX_REPORTED_RECEIVERS}. */
  readonly receivers?: readonly ReportedReceiver[];
}

/** Somebody who receives messages of a topic from a process. */
export interface ReportedReceiver {
  readonly topic: string;
  readonly consumer: string;
  /** Its calls that wait for messages. */
  readonly waiting: number;
  /** Messages that it has, as far as the process knows: given, not settled, and their leases last. */
  readonly holding: number;
  /** When its latest call ended, epoch milliseconds on the broker's clock; left out while one waits. */
  readonly seenAt?: number;
}

/** Most receivers that a process tells of; those that wait or have messages come first. */
export const MAX_REPORTED_RECEIVERS = 100;

/** The partitions that a process owns, by topic; of each that it handles. */
export type Holdings = Readonly<Record<string, readonly number[]>>;

/** What is stored of a process; `undefined` what it has not reported, or what cannot be read. */
export interface ReportedProcess {
  readonly state: ProcessState | undefined;
  readonly holdings: Holdings | undefined;
}

export interface ProcessReport extends Partial<ReportedProcess> {
  readonly session: string;
  /** Counts its reports: one that comes late, after a later one, changes nothing. */
  readonly number: number;
}

/** What a process did for a topic in a minute, so far. */
export interface TopicWork {
  readonly topic: string;
  readonly delivered: number;
  readonly acked: number;
  readonly retried: number;
  readonly dead: number;
  /** The greatest lateness, in milliseconds. */
  readonly maxLateness: number;
  /** How late messages were handed over: a bucket and how often, by turns; see `fleet/work-meter.ts`. */
  readonly lateness: readonly number[];
}

/** Most topics of one {@link WorkReport}. */
export const MAX_REPORTED_TOPICS = 200;

/** Most topics of one with a history: adding to it takes some 50 µs a topic. */
export const MAX_REPORTED_WITH_HISTORY = 20;

/** For so many minutes work is kept, the one under way included. */
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

/** How the work of topics is remembered beyond {@link MINUTES_KEPT}. */
export interface HistorySettings {
  /** Minutes that are counted together. */
  readonly span: number;
  /** For how long, in milliseconds. */
  readonly keep: number;
}

/** What was done for a topic within a span of its history. */
export interface SpanOfWork extends TopicWork {
  /** Of its begin, since the epoch. */
  readonly minute: number;
  /** Its length, in minutes. */
  readonly span: number;
}

/** What a process has reported of a minute. */
export interface ReportedWork extends TopicWork {
  readonly session: string;
}

// How reports of processes are written: `[number, …]` as JSON, which the scripts compare by its number. What cannot be read counts as not
// there: another program may have written it, or a later version.

/** What fits into a report of any honest process. */
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

/** Nothing if it is none. */
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

/** @param field session and topic */
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

/** Microseconds are as fine as anybody wants to know. */
function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
