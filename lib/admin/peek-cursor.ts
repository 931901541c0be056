import type { PeekedState, Position } from '../broker/broker.interface.js';
import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { MAX_PARTITIONS } from '../checks/limits.js';

/** How far each list was listed, by its number; one that was not listed yet is missing. A partition has two lists at most. */
export type Positions = ReadonlyMap<number, Position>;

const MAX_LISTS = 2 * MAX_PARTITIONS;

/** `[topic, state, [list, at, stored id], …]` in base64url. */
export function encodeCursor(topic: string, state: PeekedState, positions: Positions): string {
  const places = Array.from(positions, ([index, { at, storedId }]) => [index, encodeTime(at), storedId]);
  return Buffer.from(JSON.stringify([topic, state, ...places])).toString('base64url');
}

/** @throws InvalidArgumentError if it was not made by {@link encodeCursor} for this topic and state */
export function decodeCursor(cursor: unknown, topic: string, state: PeekedState): Positions {
  const parts = typeof cursor === 'string' ? parse(cursor) : undefined;
  if (Array.isArray(parts) && parts[0] === topic && parts[1] === state) {
    const positions = new Map(parts.slice(2).flatMap((place: unknown) => toPosition(place)));
    if (positions.size > 0 && positions.size === parts.length - 2) return positions;
  }
  throw new InvalidArgumentError(
    `cursor must be one that peek() has returned for topic '${topic}' and state '${state}'. Given: ${describe(cursor)}.`,
  );
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
