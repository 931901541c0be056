import { SEPARATOR, fromStoredId } from '../../messages/stored-id.js';
import {
  type PartitionStats,
  type PeekRequest,
  type PeekedMessages,
  type StoredMessage,
  sessionOfOwner,
} from '../broker.interface.js';
import type { MemoryPartition } from './memory-partition.js';
import type { Entry } from './sorted-set.js';

// What changes nothing: see the scripts of the same names, and `list` for the lists.

export function get(partition: MemoryPartition, storedId: string): StoredMessage | undefined {
  for (const state of ['scheduled', 'in-flight', 'dead'] as const) {
    const at = partition.set(state).score(storedId);
    if (at !== undefined) return stored(partition, state, storedId, at);
  }
  const blockedDue = partition.lines.blocked.score(storedId);
  if (blockedDue === undefined) return undefined;
  const blockedBy = partition.lines.blockerOf(storedId);
  const message = stored(partition, 'scheduled', storedId, blockedDue);
  return blockedBy === undefined ? message : { ...message, blockedBy };
}

export function locate(partition: MemoryPartition, id: string): string[] {
  const found = [...partition.messages.keys()].filter(
    (storedId) => storedId.includes(SEPARATOR) && fromStoredId(storedId).id === id,
  );
  return found.toSorted();
}

export function peek(
  partition: MemoryPartition,
  { state, blocked = false, after, limit, maxBytes }: PeekRequest,
): PeekedMessages {
  const isDue = state === 'due';
  const until = isDue ? partition.now : Infinity;
  const storedState = isDue ? 'scheduled' : state;
  const set = storedState === 'scheduled' && blocked ? partition.lines.blocked : partition.set(storedState);
  const left = listOf(partition, storedState, set.behind(after && { member: after.storedId, score: after.at }));
  const asked = left.filter(({ at }) => at <= until);
  const messages: StoredMessage[] = [];
  let bytes = 0;
  for (const message of asked.slice(0, limit)) {
    if (bytes >= maxBytes) break;
    messages.push(message);
    bytes += sizeOf(message);
  }
  const last = messages.at(-1);
  const more = last && asked.length > messages.length;
  return { messages, next: more ? { at: last.at, storedId: last.storedId } : undefined };
}

export function stats(partition: MemoryPartition): PartitionStats {
  const { scheduled, inflight, dead, lines, owner, paused, heldUntil, counters } = partition;
  return {
    scheduled: scheduled.size + lines.blocked.size,
    due: scheduled.upTo(partition.now).length,
    blocked: lines.blocked.size,
    inFlight: inflight.size,
    dead: dead.size,
    nextDueAt: partition.nextDueAt,
    owner: sessionOfOwner(owner),
    paused,
    heldUntil: heldUntil > partition.now ? heldUntil : undefined,
    counters: { ...counters },
  };
}

/** All messages of a state, in order of {@link StoredMessage.at}. */
export function messagesIn(partition: MemoryPartition, state: StoredMessage['state']): StoredMessage[] {
  const blocked = state === 'scheduled' ? [...partition.lines.blocked] : [];
  const all = listOf(partition, state, [...partition.set(state), ...blocked]);
  return blocked.length === 0 ? all : all.toSorted((a, b) => a.at - b.at);
}

function listOf(partition: MemoryPartition, state: StoredMessage['state'], entries: readonly Entry[]): StoredMessage[] {
  return entries.map(({ member, score }) => stored(partition, state, member, score));
}

function stored(
  partition: MemoryPartition,
  state: StoredMessage['state'],
  storedId: string,
  at: number,
): StoredMessage {
  const { delivery = 0, attempt = 0 } = partition.deliveries.get(storedId) ?? {};
  const { failure, history } = partition.errors.get(storedId) ?? { failure: undefined, history: [] };
  const envelope = partition.messages.get(storedId) as string;
  return { storedId, state, envelope, at, deliveries: delivery, attempts: attempt, failure, history };
}

function sizeOf({ envelope, failure, history }: StoredMessage): number {
  return Buffer.byteLength(envelope) + (failure ? Buffer.byteLength(JSON.stringify({ ...failure, history })) : 0);
}
