import { assertLength } from '../../../../lib/store/calls/assert-times.js';
import type { Death, Requeue } from '../../../../lib/store/dead-letters/dead-letters.js';
import type { RetentionLimits } from '../../../../lib/store/dead-letters/retention.js';
import { NO_TOKEN } from '../../../../lib/store/deliveries/receipt.js';
import type { CallId } from '../../../../lib/store/partition.js';
import type { ModelPartition } from './model-partition.js';

// Dead letters and finished messages: see the scripts of the same names, and `list` for the list.

export function requeueDead(
  partition: ModelPartition,
  call: CallId,
  deaths: readonly Requeue[],
  delay: number,
): boolean[] {
  assertLength('The delay', delay);
  return partition.once(call, () =>
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
  );
}

export function removeDead(partition: ModelPartition, call: CallId, deaths: readonly Death[]): boolean[] {
  return partition.once(call, () =>
    deaths.map((death) => {
      if (!isThere(partition, death)) return false;
      partition.remove(death.storedId, partition.dead);
      return true;
    }),
  );
}

export function trimDead(
  partition: ModelPartition,
  { maxAge = Infinity, maxCount = Infinity }: RetentionLimits,
): number | undefined {
  const { dead } = partition;
  const old = dead.upTo(partition.now - maxAge);
  const excess = dead.upTo(Infinity, Math.max(0, dead.size - maxCount));
  const gone = old.length > excess.length ? old : excess;
  gone.forEach(({ member }) => partition.remove(member, dead));
  const oldest = dead.first;
  return oldest && maxAge !== Infinity ? oldest.score + maxAge : undefined;
}

export function trimFinished(partition: ModelPartition): number | undefined {
  return partition.finished.trim(partition.now);
}

function isThere({ dead }: ModelPartition, { storedId, diedAt }: Death): boolean {
  return dead.score(storedId) === diedAt;
}
