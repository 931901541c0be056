import type { PeekedState, Position } from '../store/messages/stored-message.js';
import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { MAX_PARTITIONS } from '../checks/limits.js';

/** Position reached in each list, by its number; a list that was not begun is missing. A partition has two lists at most. */
export type Positions = ReadonlyMap<number, Position>;

const MAX_LISTS = 2 * MAX_PARTITIONS;

/** The list that a cursor was made for. */
export interface ListedPart {
  readonly topic: string;
  readonly state: PeekedState;
  readonly tag?: string | undefined;
}

/** `[topic, state or state#tag, [list, at, stored id], …]` in base64url. */
export function encodeCursor({ topic, ...part }: ListedPart, positions: Positions): string {
  const places = Array.from(positions, ([index, { at, storedId }]) => [index, encodeTime(at), storedId]);
  return Buffer.from(JSON.stringify([topic, nameOf(part), ...places])).toString('base64url');
}

/**
 * @param method name of the method that returned it
 * @throws InvalidArgumentError unless {@link encodeCursor} made it for the same list
 */
export function decodeCursor(cursor: unknown, { topic, ...part }: ListedPart, method = 'peek'): Positions {
  const parts = typeof cursor === 'string' ? parse(cursor) : undefined;
  if (Array.isArray(parts) && parts[0] === topic && parts[1] === nameOf(part)) {
    const positions = new Map(parts.slice(2).flatMap((place: unknown) => toPosition(place)));
    if (positions.size > 0 && positions.size === parts.length - 2) return positions;
  }
  const tagged = part.tag === undefined ? '' : `, by tag '${part.tag}'`;
  throw new InvalidArgumentError(
    `cursor must be one that ${method}() has returned for topic '${topic}' and state '${part.state}'${tagged}. Given: ${describe(cursor)}.`,
  );
}

function nameOf({ state, tag }: Omit<ListedPart, 'topic'>): string {
  return tag === undefined ? state : `${state}#${tag}`;
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function toPosition(place: unknown): [number, Position][] {
  if (!Array.isArray(place) || place.length !== 3) return [];
  const [index, time, storedId] = place as unknown[];
  const at = decodeTime(time);
  const isPlace = Number.isInteger(index) && (index as number) >= 0 && (index as number) < MAX_LISTS;
  return isPlace && at !== undefined && typeof storedId === 'string' ? [[index as number, { at, storedId }]] : [];
}

/** JSON has no infinite numbers, but another program may have stored one as a time. */
function encodeTime(at: number): number | string {
  return Number.isFinite(at) ? at : String(at);
}

function decodeTime(time: unknown): number | undefined {
  if (typeof time === 'number') return time;
  return time === 'Infinity' || time === '-Infinity' ? Number(time) : undefined;
}
