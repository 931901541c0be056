import { withTime } from '../../messages/envelope.js';
import { SEPARATOR } from '../../messages/stored-id.js';
import { assertLength, assertNext } from '../assert-times.js';
import {
  type CallId,
  type DueSchedules,
  type ScheduleLook,
  type FoundSchedule,
  type IndexedSchedule,
  MAX_DUE_SCHEDULES,
  type Occurrence,
  type OccurrenceResult,
  type OccurrenceSeries,
  type ScheduleContent,
  type ScheduleName,
  type SchedulePlace,
  type ScheduleWrite,
  type StoredSchedule,
} from '../broker.interface.js';
import type { MemoryFleet } from './fleet.js';
import type { MemoryPartition } from './memory-partition.js';
import { publish } from './publishing.js';

// Schedules: see redis-schedules.ts, and the scripts of the same names.

export function indexSchedule({ schedules }: MemoryFleet, { id, ...place }: IndexedSchedule): SchedulePlace {
  const found = schedules.get(id) ?? place;
  schedules.set(id, found);
  return found;
}

export function unindexSchedule({ schedules }: MemoryFleet, { id }: ScheduleName): void {
  schedules.delete(id);
}

export function findSchedule({ schedules }: MemoryFleet, { id }: ScheduleName): SchedulePlace | undefined {
  return schedules.get(id);
}

export function listSchedules({ schedules }: MemoryFleet): IndexedSchedule[] {
  const ids = [...schedules.keys()].toSorted();
  return ids.map((id) => ({ id, ...(schedules.get(id) as SchedulePlace) }));
}

export function getSchedules(
  { schedules, occurrences }: MemoryPartition,
  ids: readonly string[],
): (FoundSchedule | undefined)[] {
  return ids.map((id) => {
    const stored = schedules.get(id);
    return stored && { id, ...stored, nextAt: finite(occurrences.score(id)) };
  });
}

export function putSchedule(partition: MemoryPartition, given: ScheduleWrite): boolean {
  assertNext(given);
  const { id, expected, state, content, nextAt } = given;
  const { schedules } = partition;
  const stored = schedules.get(id);
  if (stored?.state === state) return true;
  if (stored?.state !== expected) return false;
  const head = finite([...partition.occurrences].find(({ score }) => score > partition.now)?.score);
  write(partition, id, state, { ...stored, ...content } as ScheduleContent, nextAt);
  if (nextAt !== undefined && (head === undefined || nextAt < head))
    partition.signal({ kind: 'schedules', at: nextAt });
  return true;
}

export function removeSchedule(partition: MemoryPartition, call: CallId, id: string): boolean {
  return partition.once(call, () => {
    partition.occurrences.delete(id);
    return partition.schedules.delete(id);
  });
}

export function dueSchedules(
  { schedules, occurrences, now }: MemoryPartition,
  { ahead = 0, skip = 0 }: ScheduleLook = {},
): DueSchedules {
  const due = occurrences
    .upTo(now + ahead, skip + MAX_DUE_SCHEDULES)
    .slice(skip)
    .map(({ member: id }): StoredSchedule => ({ id, ...(schedules.get(id) as StoredContent) }));
  return {
    due,
    nextAt: finite([...occurrences][skip + due.length]?.score),
    now,
    count: schedules.size,
    repaired: 0,
    damaged: [],
  };
}

export function publishOccurrence(partition: MemoryPartition, call: CallId, occurrence: Occurrence): OccurrenceResult {
  const { id, owner, expected, state, nextAt, storedId, dueAt, tags, order, unlessBusy } = occurrence;
  assertLength('An occurrence', dueAt);
  assertNext(occurrence);
  if (partition.owner !== owner) return { status: 'not-owner', owner: partition.owner };
  const stored = partition.schedules.get(id);
  if (stored?.state === state) return { status: 'published', duplicate: false };
  if (unlessBusy && stored?.state === unlessBusy.state) return { status: 'skipped' };
  if (stored?.state !== expected) return { status: 'changed' };

  if (unlessBusy && isBusy(partition, unlessBusy.series)) {
    write(partition, id, unlessBusy.state, stored, nextAt);
    return { status: 'skipped' };
  }
  const envelope = withTime(stored.envelope, partition.nowUp);
  const message = { storedId, envelope, tags, due: { at: dueAt }, onDuplicate: 'ignore' } as const;
  const [result] = publish(partition, call, [message], { order });
  write(partition, id, state, stored, nextAt);
  return { status: 'published', duplicate: result?.status !== 'created' };
}

type StoredContent = Omit<StoredSchedule, 'id'>;

function write(
  { schedules, occurrences }: MemoryPartition,
  id: string,
  state: string,
  { definition, envelope }: ScheduleContent,
  nextAt = Infinity,
): void {
  schedules.set(id, { state, definition, envelope });
  occurrences.set(id, nextAt);
}

/** Whether a message of the series waits, runs or retries. */
function isBusy({ messages, dead }: MemoryPartition, { prefix, suffix }: OccurrenceSeries): boolean {
  for (const storedId of messages.keys()) {
    const isOfSeries = storedId.includes(SEPARATOR) && storedId.startsWith(prefix) && storedId.endsWith(suffix);
    if (isOfSeries && /\d/.test(storedId[prefix.length] ?? '') && dead.score(storedId) === undefined) return true;
  }
  return false;
}

function finite(score: number | undefined): number | undefined {
  return score === Infinity ? undefined : score;
}
