import { MAX_PARTITIONS } from '../../checks/limits.js';
import { isName } from '../../messages/topic.js';
import { decodeHandling, encodeHandling } from './handling-record.js';
import type {
  Heartbeat,
  Partition,
  SessionRecord,
  SessionSignal,
  TopicConfig,
  TopicLimits,
} from '../broker.interface.js';

// How the records of the fleet are written, and the signals to its sessions. A later version may have put words behind those that this one
// knows. What cannot be read at all counts as not there: another program may have written it.

/** The highest version of the protocol that a config can have; a higher number is damage. */
export const MAX_PROTOCOL = 1_000_000;

/** Count, time, length, digest, and then whether the process has left; a later version may have put more words there. */
const SESSION = /^(\d{1,15}) (\d{1,15}) (\d{1,15}) (\S+)((?: \S+)*)$/;

/** @param at when the process says so, epoch milliseconds */
export function encodeSession({ count, length, digest }: Heartbeat, at: number): string {
  return `${count} ${Math.round(at)} ${Math.round(length)} ${digest}`;
}

export function encodeLeftSession(heartbeat: Heartbeat, at: number): string {
  return `${encodeSession(heartbeat, at)} left`;
}

/** @returns sorted by name */
export function decodeSessions(fields: Readonly<Record<string, string>>): SessionRecord[] {
  const sessions: SessionRecord[] = [];
  for (const [session, record] of Object.entries(fields)) {
    const [, count, at, length, digest, rest = ''] = SESSION.exec(record) ?? [];
    if (digest === undefined) continue;
    sessions.push({
      session,
      count: Number(count),
      at: Number(at),
      length: Number(length),
      digest,
      left: rest.split(' ').includes('left'),
    });
  }
  return sessions.toSorted((a, b) => (a.session < b.session ? -1 : 1));
}

/** The topics of a list, as it is stored under its digest. */
export function decodeTopics(text: string | null): readonly string[] | undefined {
  const topics = fromJson(text);
  return Array.isArray(topics) && topics.every(isName) ? topics : undefined;
}

/** In the second copy, in place of what a topic has not, before what it has. */
const NONE = '-';

/** The second copy of a topic's config. */
export function encodeTopicConfig({ partitions, protocol, order, limits, handling }: TopicConfig): string {
  const words = [partitions, protocol, order, encodeLimits(limits), encodeHandling(handling)];
  return words
    .slice(0, words.findLastIndex((word) => word) + 1)
    .map((word) => word || NONE)
    .join(' ');
}

export function decodeTopicConfig(text: string | null): TopicConfig | undefined {
  return topicConfigOf((text?.split(' ') ?? []).map((word) => (word === NONE ? '' : word)));
}

/** A topic's config from the texts of its fields. */
export function topicConfigOf(fields: readonly unknown[]): TopicConfig | undefined {
  const [partitions, protocol, order = '', ...terms] = fields;
  if (!isNumber(partitions, MAX_PARTITIONS) || !isNumber(protocol, MAX_PROTOCOL)) return undefined;
  const [limits, handling] = [decodeLimits(terms[0]), decodeHandling(terms[1])];
  const numbers = { partitions: Number(partitions), protocol: Number(protocol) };
  const config = { ...numbers, ...(limits && { limits }), ...(handling && { handling }) };
  if (order === 'continue' || order === 'block') return { ...config, order };
  return order === '' || order === null ? config : undefined;
}

/** Such as `rate=50/1000,flight=10`, and with `keyrate` and `keyflight` what each key may have; nothing for no limits. */
export function encodeLimits(limits: TopicLimits | undefined): string {
  const { rate, inFlight } = limits ?? {};
  const parts = [
    rate && `${rate.by === 'key' ? 'key' : ''}rate=${rate.max}/${rate.per}`,
    inFlight?.topic !== undefined && `flight=${inFlight.topic}`,
    inFlight?.key !== undefined && `keyflight=${inFlight.key}`,
  ];
  return parts.filter((part) => part).join(',');
}

/** Each may be followed by limits of a later version. */
const RATE = /(?:^|,)(?<by>key)?rate=(?<max>\d{1,15})\/(?<per>\d{1,15})(?:,|$)/;
const IN_FLIGHT = /(?:^|,)flight=(?<topic>\d{1,15})(?:,|$)/;
const IN_FLIGHT_BY_KEY = /(?:^|,)keyflight=(?<key>\d{1,15})(?:,|$)/;

/** What cannot be read counts as no limits; a process that has some configured stores them again at its next boot. */
export function decodeLimits(text: unknown): TopicLimits | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  const { by, max, per } = RATE.exec(text)?.groups ?? {};
  const { topic } = IN_FLIGHT.exec(text)?.groups ?? {};
  const { key } = IN_FLIGHT_BY_KEY.exec(text)?.groups ?? {};
  const rate =
    Number(max) > 0 && Number(per) > 0 ? { max: Number(max), per: Number(per), by: by ?? 'topic' } : undefined;
  const inFlight = { topic: countOf(topic), key: countOf(key) };
  const isInFlight = inFlight.topic !== undefined || inFlight.key !== undefined;
  if (!rate && !isInFlight) return undefined;
  return { rate: rate as TopicLimits['rate'], inFlight: isInFlight ? inFlight : undefined };
}

function countOf(text: string | undefined): number | undefined {
  return Number(text) > 0 ? Number(text) : undefined;
}

/** As `lua/configure.lua` reads it. */
function isNumber(text: unknown, most: number): text is string {
  return typeof text === 'string' && /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= most;
}

export function encodeSessionSignal(signal: SessionSignal): string {
  return JSON.stringify(signal);
}

export function decodeSessionSignal(text: string): SessionSignal | undefined {
  const { kind, count, lease, owner, partition, partitions, token, topic } = objectOf(fromJson(text));
  switch (kind) {
    case 'changed':
    case 'unknown-topics':
      return { kind };
    case 'released':
      return { kind, partitions: Array.isArray(partitions) ? partitions.flatMap(partitionsOf) : [] };
    case 'permits':
    case 'limits':
      return isName(topic) ? { kind, topic } : undefined;
    case 'echo':
      return Number.isSafeInteger(count) ? { kind, count: count as number } : undefined;
    case 'wanted': {
      const [wanted] = partitionsOf(partition);
      return wanted && typeof owner === 'string' ? { kind, partition: wanted, owner } : undefined;
    }
    case 'lease': {
      const [leased] = partitionsOf(partition);
      const isLease = typeof token === 'string' && Number.isSafeInteger(lease);
      return leased && isLease ? { kind, partition: leased, token, lease: lease as number } : undefined;
    }
    default:
      return undefined;
  }
}

/** Nothing if it is none. */
function partitionsOf(value: unknown): Partition[] {
  const { topic, index } = objectOf(value);
  return isName(topic) && isIndex(index) ? [{ topic, index }] : [];
}

function isIndex(index: unknown): index is number {
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < MAX_PARTITIONS;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function fromJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return undefined;
  }
}
