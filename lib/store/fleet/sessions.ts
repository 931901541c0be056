import { isName } from '../../messages/topic.js';
import type { Owner } from './owner.js';
import { fromJson } from '../stored-json.js';

/** Data that a process sends about itself with each heartbeat. */
export interface Heartbeat {
  /** Name of the process: `host:pid:uuid`, new at each boot. */
  readonly session: string;
  /** Number of its heartbeats so far. */
  readonly count: number;
  /** Time that its session lasts without a heartbeat, in milliseconds. */
  readonly length: number;
  /** Name of the list of topics that it handles; see `rememberTopics`. */
  readonly digest: string;
  /** Version of the protocol that the process speaks. @defaultValue 2, whose processes do not say it */
  readonly protocol?: number | undefined;
}

/**
 * A stored session. Each process finds out by itself whether it has ended, by whether its count grows; the time is only for
 * callers that look once.
 */
export interface SessionRecord extends Heartbeat {
  /** Time at which the process sent its latest heartbeat, by its estimate of the broker's clock; epoch milliseconds. */
  readonly at: number;
  /** Whether the process has left. */
  readonly left: boolean;
}

export interface FleetLook {
  /** Whether the session was not stored: it is the first heartbeat, or others have forgotten it, or Redis has lost it. */
  readonly isNew: boolean;
  /** A random word that is never removed: another one means that data was lost. `undefined`: none could be stored. */
  readonly mark: string | undefined;
  /** All sessions, sorted by name, the own one included. */
  readonly sessions: readonly SessionRecord[];
}

/** The topics that a process handles, under a digest of the list: many processes handle the same topics. */
export interface TopicList {
  readonly digest: string;
  readonly topics: readonly string[];
}

export type AcquireResult =
  | { readonly acquired: true }
  /** The owner that is stored instead; `undefined` if none is. */
  | { readonly acquired: false; readonly owner: Owner | undefined };

/** Format: count, time, length, digest, and then the protocol and whether the process has left; a later version may have put more words there. */
const SESSION = /^(\d{1,15}) (\d{1,15}) (\d{1,15}) (\S+)((?: \S+)*)$/;

const PROTOCOL = / p(\d{1,7})(?: |$)/;

/** @param at time of the heartbeat, epoch milliseconds */
export function encodeSession({ count, length, digest, protocol }: Heartbeat, at: number): string {
  return `${count} ${Math.round(at)} ${Math.round(length)} ${digest}${protocol === undefined ? '' : ` p${protocol}`}`;
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
    const [, protocol] = PROTOCOL.exec(rest) ?? [];
    sessions.push({
      session,
      count: Number(count),
      at: Number(at),
      length: Number(length),
      digest,
      protocol: protocol === undefined ? undefined : Number(protocol),
      left: rest.split(' ').includes('left'),
    });
  }
  return sessions.toSorted((a, b) => (a.session < b.session ? -1 : 1));
}

/** Decodes the topics of a list, as stored under its digest. */
export function decodeTopics(text: string | null): readonly string[] | undefined {
  const topics = fromJson(text);
  return Array.isArray(topics) && topics.every(isName) ? topics : undefined;
}
