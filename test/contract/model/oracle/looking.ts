import { SEPARATOR, fromStoredId } from '../../../../lib/messages/stored-id.js';
import { sessionOfOwner } from '../../../../lib/store/fleet/owner.js';
import type { PartitionStats } from '../../../../lib/store/messages/partition-counts.js';
import type { PeekRequest, PeekedMessages, StoredMessage } from '../../../../lib/store/messages/stored-message.js';
import type { ModelPartition } from './model-partition.js';
import type { Entry } from './sorted-set.js';

// What changes nothing: see the scripts of the same names, and `list` for the lists.

export function get(partition: ModelPartition, storedId: string): StoredMessage | undefined {
  for (const state of ['scheduled', 'in-flight', 'dead'] as const) {
    const at = partition.set(state).score(storedId);
    if (at !== undefined) return stored(partition, state, storedId, at);
  }
  const blockedDue = partition.lines.blocked.score(storedId);
  if (blockedDue !== undefined) {
    const blockedBy = partition.lines.blockerOf(storedId);
    const message = stored(partition, 'scheduled', storedId, blockedDue);
    return blockedBy === undefined ? message : { ...message, blockedBy };
  }
  if (!partition.finished.find(storedId, partition.now)) return undefined;
  return stored(partition, 'finished', storedId, partition.finished.set.score(storedId) as number);
}

export function locate(partition: ModelPartition, id: string): string[] {
  const finished = Array.from(partition.finished.set, ({ member }) => member);
  const found = [...partition.messages.keys(), ...finished].filter(
    (storedId) => storedId.includes(SEPARATOR) && fromStoredId(storedId).id === id,
  );
  return [...new Set(found)].toSorted();
}

export function peek(partition: ModelPartition, request: PeekRequest): PeekedMessages {
  const { state, blocked = false, after, limit, maxBytes, tag } = request;
  if (tag !== undefined) return peekTagged(partition, tag, request);
  const isDue = state === 'due';
  const until = isDue ? partition.now : Infinity;
  const listed = isDue ? 'scheduled' : state;
  const set = listed === 'scheduled' && blocked ? partition.lines.blocked : partition.set(listed);
  const left = listOf(partition, listed, set.behind(after && { member: after.storedId, score: after.at }));
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

function peekTagged(
  partition: ModelPartition,
  tag: string,
  { state, after, limit, maxBytes }: PeekRequest,
): PeekedMessages {
  const messages: StoredMessage[] = [];
  let [bytes, last] = [0, after?.storedId];
  for (const storedId of partition.tagged(tag, last)) {
    if (messages.length === limit || bytes >= maxBytes) return { messages, next: { at: 0, storedId: last as string } };
    last = storedId;
    const message = get(partition, storedId);
    const isDue = message?.at !== undefined && message.at <= partition.now && message.blockedBy === undefined;
    if (!message || message.state !== (state === 'due' ? 'scheduled' : state) || (state === 'due' && !isDue)) continue;
    const { blockedBy: _onlyKnownToGet, ...listed } = message;
    messages.push(listed);
    bytes += sizeOf(message);
  }
  return { messages, next: undefined };
}

export function stats(partition: ModelPartition): PartitionStats {
  const { scheduled, inflight, dead, finished, errors, lines, owner, paused, heldUntil, counters } = partition;
  const blockedDue = lines.blocked.upTo(partition.now);
  return {
    scheduled: scheduled.size + lines.blocked.size,
    due: scheduled.upTo(partition.now).length,
    blocked: lines.blocked.size,
    blockedDue: blockedDue.length,
    oldestBlockedDueAt: blockedDue[0]?.score,
    inFlight: inflight.size,
    dead: dead.size,
    finished: finished.set.size,
    retrying: errors.size - dead.size,
    nextDueAt: partition.nextDueAt,
    owner: sessionOfOwner(owner),
    paused,
    heldUntil: heldUntil > partition.now ? heldUntil : undefined,
    counters: { ...counters },
  };
}

function listOf(partition: ModelPartition, state: StoredMessage['state'], entries: readonly Entry[]): StoredMessage[] {
  return entries.map(({ member, score }) => stored(partition, state, member, score));
}

function stored(partition: ModelPartition, state: StoredMessage['state'], storedId: string, at: number): StoredMessage {
  if (state === 'finished') return { storedId, state, at, ...partition.finished.listed(storedId) };
  const { delivery = 0, attempt = 0, due } = partition.deliveries.get(storedId) ?? {};
  const { failure, history } = partition.errors.get(storedId) ?? { failure: undefined, history: [] };
  const envelope = partition.messages.get(storedId) as string;
  const common = { storedId, state, envelope, at, deliveries: delivery, attempts: attempt, failure, history };
  return state === 'in-flight' && due !== undefined ? { ...common, dueAt: due } : common;
}

function sizeOf({ envelope, failure, history }: StoredMessage): number {
  return Buffer.byteLength(envelope) + (failure ? Buffer.byteLength(JSON.stringify({ ...failure, history })) : 0);
}
