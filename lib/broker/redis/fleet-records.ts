import { MAX_PARTITIONS } from '../../checks/limits.js';
import { isName } from '../../messages/topic.js';
import type { Heartbeat, Partition, SessionRecord, SessionSignal, TopicConfig } from '../broker.interface.js';

// How the records of the fleet are written, and the signals to its sessions. What cannot be read counts as not there: another
// program may have written it, or a later version.

/** The highest version of the protocol that a config can have; a higher number is damage. */
export const MAX_PROTOCOL = 1_000_000;

/** Count, time, length, digest, and whether the process has left. */
const SESSION = /^(\d{1,15}) (\d{1,15}) (\d{1,15}) (\S+)( left)?$/;

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
    const [, count, at, length, digest, left] = SESSION.exec(record) ?? [];
    if (digest === undefined) continue;
    sessions.push({
      session,
      count: Number(count),
      at: Number(at),
      length: Number(length),
      digest,
      left: left !== undefined,
    });
  }
  return sessions.toSorted((a, b) => (a.session < b.session ? -1 : 1));
}

/** The topics of a list, as it is stored under its digest. */
export function decodeTopics(text: string | null): readonly string[] | undefined {
  const topics = fromJson(text);
  return Array.isArray(topics) && topics.every(isName) ? topics : undefined;
}

/** The second copy of a topic's config. */
export function encodeTopicConfig({ partitions, protocol, order }: TopicConfig): string {
  return [partitions, protocol, order].filter((part) => part !== undefined).join(' ');
}

export function decodeTopicConfig(text: string | null): TopicConfig | undefined {
  const [partitions, protocol, order = '', ...rest] = text?.split(' ') ?? [];
  return rest.length === 0 ? topicConfigOf([partitions, protocol, order]) : undefined;
}

/** A topic's config from the texts of its fields. */
export function topicConfigOf([partitions, protocol, order = '']: readonly unknown[]): TopicConfig | undefined {
  if (!isNumber(partitions, MAX_PARTITIONS) || !isNumber(protocol, MAX_PROTOCOL)) return undefined;
  const config = { partitions: Number(partitions), protocol: Number(protocol) };
  if (order === 'continue' || order === 'block') return { ...config, order };
  return order === '' || order === null ? config : undefined;
}

/** As `lua/configure.lua` reads it. */
function isNumber(text: unknown, most: number): text is string {
  return typeof text === 'string' && /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= most;
}

export function encodeSessionSignal(signal: SessionSignal): string {
  return JSON.stringify(signal);
}

export function decodeSessionSignal(text: string): SessionSignal | undefined {
  const { kind, count, owner, partition, partitions } = objectOf(fromJson(text));
  switch (kind) {
    case 'changed':
    case 'unknown-topics':
      return { kind };
    case 'released':
      return { kind, partitions: Array.isArray(partitions) ? partitions.flatMap(partitionsOf) : [] };
    case 'echo':
      return Number.isSafeInteger(count) ? { kind, count: count as number } : undefined;
    case 'wanted': {
      const [wanted] = partitionsOf(partition);
      return wanted && typeof owner === 'string' ? { kind, partition: wanted, owner } : undefined;
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
