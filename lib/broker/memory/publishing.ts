import { assertDue, assertDues } from '../assert-times.js';
import type {
  CallId,
  CancelResult,
  ClearResult,
  DueTime,
  EditResult,
  EnvelopeEdit,
  NewMessage,
  PublishResult,
  PublishTerms,
  RescheduleResult,
} from '../broker.interface.js';
import type { DeliveryRecord, MemoryPartition } from './memory-partition.js';

// Publishing, and changing what waits: see the scripts of the same names.

/** Most messages that one call clears. */
const MOST_CLEARED = 100;

export function publish(
  partition: MemoryPartition,
  call: CallId,
  messages: readonly NewMessage[],
  { order }: PublishTerms = {},
): PublishResult[] {
  assertDues(messages);
  return partition.once(call, () =>
    partition.waking(() => {
      if (order) partition.lines.mode = order;
      const isNew = partition.counters.published === 0;
      const [first, ...others] = messages.map((message) => publishOne(partition, message));
      return first ? [isNew ? { ...first, isNewPartition: true } : first, ...others] : [];
    }),
  );
}

function publishOne(
  partition: MemoryPartition,
  { storedId, envelope, due: spec, onDuplicate, maxWait }: NewMessage,
): PublishResult {
  const wanted = partition.dueTime(spec);
  const record = partition.deliveries.get(storedId);
  const waiting = record?.mark?.kind === 'replaced' ? record.mark : record;
  const isNew = !partition.messages.has(storedId);
  if (!isNew && onDuplicate !== 'replace') {
    const score = partition.dueOf(storedId);
    // What a limit of its key holds back in an order is scheduled for when it may begin.
    const dueAt = (partition.lines.isOrdered ? undefined : score) ?? waiting?.due ?? score ?? wanted;
    if (onDuplicate === 'earliest') return { status: 'ignored', dueAt: hasten(partition, storedId, wanted, dueAt) };
    return { status: onDuplicate === 'ignore' ? 'ignored' : 'rejected', dueAt };
  }
  const { due, firstPublishedAt } = limited(partition, wanted, maxWait, waiting?.firstPublishedAt);
  partition.messages.set(storedId, envelope);
  partition.counters.published++;
  if (record && partition.inflight.score(storedId) !== undefined) {
    // It must not run twice at once: the running delivery keeps its receipt, and its settle schedules the new message.
    record.mark = { kind: 'replaced', due, firstPublishedAt };
  } else {
    partition.dead.delete(storedId);
    partition.errors.delete(storedId);
    partition.noteWaiting(storedId, { delivery: 0, firstPublishedAt }, due, 0);
    if (isNew) partition.lines.lineUp(storedId, due);
    else partition.placeAnew(storedId, due);
  }
  return { status: isNew ? 'created' : 'replaced', dueAt: due };
}

/** However often a message is replaced, it is due at most its longest wait after its first publish. */
function limited(
  { nowUp }: MemoryPartition,
  due: number,
  maxWait: number | undefined,
  known: number | undefined,
): Pick<DeliveryRecord, 'due' | 'firstPublishedAt'> {
  if (maxWait === undefined) return { due, firstPublishedAt: known };
  const firstPublishedAt = Math.min(known ?? nowUp, nowUp);
  return { due: Math.min(due, firstPublishedAt + maxWait), firstPublishedAt };
}

/**
 * Moves a message to an earlier time if it waits.
 *
 * @returns when it is due now
 */
function hasten(partition: MemoryPartition, storedId: string, due: number, dueBefore: number): number {
  if (due >= dueBefore || move(partition, storedId, due) !== 'rescheduled') return dueBefore;
  return due;
}

export function cancel(partition: MemoryPartition, call: CallId, storedId: string): CancelResult {
  return partition.once(call, () => {
    if (partition.dueOf(storedId) !== undefined) {
      partition.waking(() => partition.remove(storedId, partition.scheduled));
      partition.counters.cancelled++;
      return 'cancelled';
    }
    const record = partition.deliveries.get(storedId);
    if (!record || partition.inflight.score(storedId) === undefined) return 'not-found';
    record.mark = { kind: 'cancelled' };
    partition.signal({ kind: 'cancelled', storedId, token: record.token });
    return 'in-flight';
  });
}

export function reschedule(partition: MemoryPartition, call: CallId, storedId: string, due: DueTime): RescheduleResult {
  assertDue(due);
  return partition.once(call, () => partition.waking(() => move(partition, storedId, partition.dueTime(due))));
}

export function runNow(partition: MemoryPartition, call: CallId, storedId: string): RescheduleResult {
  return partition.once(call, () =>
    partition.waking(() => {
      const due = partition.dueOf(storedId) ?? Infinity;
      return move(partition, storedId, Math.min(due, partition.nowUp));
    }),
  );
}

function move(partition: MemoryPartition, storedId: string, due: number): RescheduleResult {
  if (partition.dueOf(storedId) === undefined) {
    return partition.inflight.score(storedId) === undefined ? 'not-found' : 'in-flight';
  }
  const record = partition.deliveries.get(storedId);
  if (record) record.due = due;
  partition.placeAnew(storedId, due);
  return 'rescheduled';
}

export function edit(
  partition: MemoryPartition,
  call: CallId,
  { storedId, expected, envelope }: EnvelopeEdit,
): EditResult {
  return partition.once(call, () => {
    if (partition.dueOf(storedId) === undefined) return 'not-waiting';
    if (partition.messages.get(storedId) !== expected) return 'changed';
    partition.messages.set(storedId, envelope);
    return 'edited';
  });
}

export function clear(partition: MemoryPartition, call: CallId, state: 'scheduled' | 'dead'): ClearResult {
  return partition.once(call, () => {
    const set = partition.set(state);
    const blocked = state === 'scheduled' ? partition.lines.blocked.upTo(Infinity, MOST_CLEARED) : [];
    const first = [...blocked, ...set.upTo(Infinity, MOST_CLEARED - blocked.length)];
    partition.waking(() => first.forEach(({ member }) => partition.remove(member, set)));
    if (state === 'scheduled') partition.counters.cancelled += first.length;
    return { removed: first.length, more: first.length === MOST_CLEARED };
  });
}
