import { assertLength } from '../assert-times.js';
import {
  type CallId,
  type DeadLetterPage,
  type DeadLetterQuery,
  type Death,
  NO_TOKEN,
  type Requeue,
  type RetentionLimits,
} from '../broker.interface.js';
import type { MemoryPartition } from './memory-partition.js';

// Dead letters and finished messages: see the scripts of the same names, and `list` for the list.

export function listDead(
  partition: MemoryPartition,
  { after, since = -Infinity, until, limit, withFailures }: DeadLetterQuery,
): DeadLetterPage {
  const { now } = partition;
  const letters = partition.dead
    .behind(after && { member: after.storedId, score: after.diedAt })
    .filter(({ score }) => score >= since && score < (until ?? now + 1))
    .slice(0, limit)
    .map(({ member, score }) => ({
      storedId: member,
      diedAt: score,
      failure: withFailures ? partition.errors.get(member)?.failure : undefined,
    }));
  return { letters, next: letters.length === limit ? letters.at(-1) : undefined, now };
}

export function requeueDead(
  partition: MemoryPartition,
  call: CallId,
  deaths: readonly Requeue[],
  delay: number,
): boolean[] {
  assertLength('The delay', delay);
  return partition.once(call, () =>
    partition.waking(() =>
      deaths.map((death) => {
        const { storedId, envelope } = death;
        const record = partition.deliveries.get(storedId);
        if (!isThere(partition, death) || !record) return false;
        partition.dead.delete(storedId);
        if (envelope !== undefined) partition.messages.set(storedId, envelope);
        const due = partition.nowUp + delay;
        partition.deliveries.set(storedId, { ...record, token: NO_TOKEN, attempt: 0, due, crashes: 0 });
        partition.placeAnew(storedId, due);
        return true;
      }),
    ),
  );
}

export function removeDead(partition: MemoryPartition, call: CallId, deaths: readonly Death[]): boolean[] {
  return partition.once(call, () =>
    partition.waking(() =>
      deaths.map((death) => {
        if (!isThere(partition, death)) return false;
        partition.remove(death.storedId, partition.dead);
        return true;
      }),
    ),
  );
}

export function trimDead(
  partition: MemoryPartition,
  { maxAge = Infinity, maxCount = Infinity }: RetentionLimits,
): number | undefined {
  const { dead } = partition;
  const old = dead.upTo(partition.now - maxAge);
  const excess = dead.upTo(Infinity, Math.max(0, dead.size - maxCount));
  const gone = old.length > excess.length ? old : excess;
  partition.waking(() => gone.forEach(({ member }) => partition.remove(member, dead)));
  const oldest = dead.first;
  return oldest && maxAge !== Infinity ? oldest.score + maxAge : undefined;
}

export function trimFinished(partition: MemoryPartition): number | undefined {
  return partition.finished.trim(partition.now);
}

function isThere({ dead }: MemoryPartition, { storedId, diedAt }: Death): boolean {
  return dead.score(storedId) === diedAt;
}
