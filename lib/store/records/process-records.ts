import { MAX_PARTITIONS } from '../../checks/limits.js';
import { isConsumer } from '../../messages/consumer-name.js';
import { isPlainObject } from '../../checks/kinds.js';
import { isWithin } from '../../checks/validate.js';
import { isName } from '../../messages/topic.js';
import { MAX_TIME } from '../../time/date.js';
import type { Holdings, ProcessState, ReportedReceiver, ReportedWork, TopicWork } from '../broker.interface.js';

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
  try {
    const list: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** Microseconds are as fine as anybody wants to know. */
function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
