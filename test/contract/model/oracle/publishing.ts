import type {
  CancelResult,
  ClearResult,
  RescheduleResult,
  TagCancelResult,
} from '../../../../lib/store/messages/change-message.js';
import {
  type DueTime,
  type NewMessage,
  type PublishResult,
  type PublishTerms,
  assertDue,
  assertMessages,
} from '../../../../lib/store/messages/publish.js';
import type { CallId } from '../../../../lib/store/partition.js';
import type { DeliveryRecord, ModelPartition } from './model-partition.js';

// Publishing, and changing what waits: see the scripts of the same names.

/** Most messages that one call clears. */
const MOST_CLEARED = 100;

/** Most messages of a tag that one call looks at. */
const MOST_CANCELLED = 100;

export function publish(
  partition: ModelPartition,
  call: CallId,
  messages: readonly NewMessage[],
  { order }: PublishTerms = {},
): PublishResult[] {
  assertMessages(messages);
  return partition.once(call, () => {
    if (order) partition.lines.mode = order;
    const isNew = partition.counters.published === 0;
    const [first, ...others] = messages.map((message) => publishOne(partition, message));
    return first ? [isNew ? { ...first, isNewPartition: true } : first, ...others] : [];
  });
}

function publishOne(partition: ModelPartition, message: NewMessage): PublishResult {
  const isNew = !partition.messages.has(message.storedId);
  const wanted = partition.dueTime(message.due);
  const kept = isNew ? keptEnded(partition, message, wanted) : keptWaiting(partition, message, wanted);
  if (kept) return kept;
  if (isNew && partition.finished.hasKept) partition.finished.forget(message.storedId);
  return { status: isNew ? 'created' : 'replaced', dueAt: store(partition, message, wanted) };
}

/** @returns when the message is due */
function store(partition: ModelPartition, { storedId, envelope, tags, maxWait }: NewMessage, wanted: number): number {
  const isNew = !partition.messages.has(storedId);
  const record = partition.deliveries.get(storedId);
  const { due, firstPublishedAt } = limited(partition, wanted, maxWait, waitingPart(record)?.firstPublishedAt);
  partition.messages.set(storedId, envelope);
  if (tags && tags.length > 0) partition.tags.set(storedId, tags);
  else partition.tags.delete(storedId);
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
  return due;
}

/** The answer to a publish of an id that exists, unless it replaces the message. */
function keptWaiting(
  partition: ModelPartition,
  { storedId, onDuplicate }: NewMessage,
  wanted: number,
): PublishResult | undefined {
  if (onDuplicate === 'replace') return undefined;
  const dueAt = currentDue(partition, storedId) ?? wanted;
  if (onDuplicate === 'earliest') return { status: 'ignored', dueAt: hasten(partition, storedId, wanted, dueAt) };
  return { status: onDuplicate === 'ignore' ? 'ignored' : 'rejected', dueAt };
}

/** When a message is due. What a limit of its key holds back in an order is scheduled for when it may begin. */
function currentDue(partition: ModelPartition, storedId: string): number | undefined {
  const score = partition.dueOf(storedId);
  const waiting = waitingPart(partition.deliveries.get(storedId));
  return (partition.lines.isOrdered ? undefined : score) ?? waiting?.due ?? score;
}

/** The answer to a publish of an id whose message has ended and is kept, unless it takes its place. */
function keptEnded(
  partition: ModelPartition,
  { storedId, onDuplicate }: NewMessage,
  wanted: number,
): PublishResult | undefined {
  const ended = partition.finished.find(storedId, partition.now);
  if (!ended || onDuplicate === 'replace' || onDuplicate === 'impossible') return undefined;
  const { outcome: finishedAs, dueAt = wanted } = ended.ending;
  return onDuplicate === 'reject' ? { status: 'rejected', dueAt, finishedAs } : { status: 'ignored', dueAt };
}

/** When the message that waits, or will once its replaced delivery has ended, is due and was published first. */
function waitingPart(record: DeliveryRecord | undefined): Pick<DeliveryRecord, 'due' | 'firstPublishedAt'> | undefined {
  return record?.mark?.kind === 'replaced' ? record.mark : record;
}

/** However often a message is replaced, it is due at most its longest wait after its first publish. */
function limited(
  { nowUp }: ModelPartition,
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
function hasten(partition: ModelPartition, storedId: string, due: number, dueBefore: number): number {
  if (due >= dueBefore || move(partition, storedId, due) !== 'moved') return dueBefore;
  return due;
}

export function cancel(partition: ModelPartition, call: CallId, storedId: string): CancelResult {
  return partition.once(call, () => cancelOne(partition, storedId));
}

export function cancelTagged(
  partition: ModelPartition,
  call: CallId,
  tag: string,
  after: string | undefined,
): TagCancelResult {
  return partition.once(call, () => {
    const ids = partition.tagged(tag, after).slice(0, MOST_CANCELLED);
    const results = ids.map((storedId) => cancelOne(partition, storedId));
    const count = (wanted: CancelResult): number => results.filter((result) => result === wanted).length;
    const next = ids.length === MOST_CANCELLED ? ids.at(-1) : undefined;
    return { cancelled: count('cancelled'), inFlight: count('in-flight'), next };
  });
}

function cancelOne(partition: ModelPartition, storedId: string): CancelResult {
  if (partition.dueOf(storedId) !== undefined) {
    partition.finish(storedId, partition.scheduled, 'cancelled');
    partition.counters.cancelled++;
    return 'cancelled';
  }
  const record = partition.deliveries.get(storedId);
  if (!record || partition.inflight.score(storedId) === undefined) return 'not-found';
  record.mark = { kind: 'cancelled' };
  return 'in-flight';
}

export function reschedule(partition: ModelPartition, call: CallId, storedId: string, due: DueTime): RescheduleResult {
  assertDue(due);
  return partition.once(call, () => move(partition, storedId, partition.dueTime(due)));
}

export function runNow(partition: ModelPartition, call: CallId, storedId: string): RescheduleResult {
  return partition.once(call, () => {
    const isDue = (currentDue(partition, storedId) ?? Infinity) <= partition.nowUp;
    // What stays due when it was keeps its place, too.
    if (isDue && partition.dueOf(storedId) !== undefined) return 'moved';
    return move(partition, storedId, partition.nowUp);
  });
}

function move(partition: ModelPartition, storedId: string, due: number): RescheduleResult {
  if (partition.dueOf(storedId) === undefined) {
    if (partition.inflight.score(storedId) !== undefined) return 'in-flight';
    return partition.dead.score(storedId) === undefined ? 'not-found' : 'dead';
  }
  const record = partition.deliveries.get(storedId);
  if (record) record.due = due;
  partition.placeAnew(storedId, due);
  return 'moved';
}

export function clear(partition: ModelPartition, call: CallId, state: 'scheduled' | 'dead'): ClearResult {
  return partition.once(call, () => {
    const set = partition.set(state);
    const blocked = state === 'scheduled' ? partition.lines.blocked.upTo(Infinity, MOST_CLEARED) : [];
    const first = [...blocked, ...set.upTo(Infinity, MOST_CLEARED - blocked.length)];
    const remove = (storedId: string): void =>
      state === 'scheduled' ? partition.finish(storedId, set, 'cancelled') : partition.remove(storedId, set);
    first.forEach(({ member }) => remove(member));
    if (state === 'scheduled') partition.counters.cancelled += first.length;
    return { removed: first.length, more: first.length === MOST_CLEARED };
  });
}
