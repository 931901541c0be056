import type { Failure } from '../../messages/failure.js';
import { assertDelays, assertLength } from '../assert-times.js';
import {
  type CallId,
  type ExtendStatus,
  NO_TOKEN,
  type Outcome,
  type Receipt,
  type SettleStatus,
  type Settlement,
} from '../broker.interface.js';
import type { DeliveryRecord, LastRun, MemoryPartition } from './memory-partition.js';

// From the claim of a message to its end: see the scripts of the same names, and `claiming.ts`.

/**
 * Ends what was cancelled while in flight, or schedules what was replaced, once nobody will settle its delivery any more.
 *
 * @returns whether the message was one of those
 */
export function conclude(partition: MemoryPartition, storedId: string, record: DeliveryRecord): boolean {
  if (record.mark?.kind === 'cancelled') end(partition, storedId, 'cancelled');
  else if (record.mark?.kind === 'replaced') scheduleReplacement(partition, storedId, record.mark);
  return record.mark !== undefined;
}

export function settle(
  partition: MemoryPartition,
  call: CallId,
  settlements: readonly Settlement[],
  process?: string,
): SettleStatus[] {
  assertDelays(settlements);
  return partition.once(call, () =>
    partition.waking(() => settlements.map((settlement) => settleOne(partition, settlement, process))),
  );
}

function settleOne(
  partition: MemoryPartition,
  { storedId, token, outcome, duration = 0 }: Settlement,
  process: string | undefined,
): SettleStatus {
  const run = process === undefined ? undefined : { process, duration: Math.round(duration) };
  const record = currentRecord(partition, { storedId, token });
  if (!record) {
    partition.counters.stale++;
    return 'stale';
  }
  giveBackGrant(partition, storedId, outcome);
  if (record.mark?.kind === 'cancelled' && outcome.kind !== 'ack') {
    end(partition, storedId, 'cancelled', run);
    return 'cancelled';
  }
  if (record.mark?.kind === 'replaced') {
    if (outcome.kind === 'ack') partition.counters.acked++;
    scheduleReplacement(partition, storedId, record.mark);
    return outcome.kind === 'ack' ? 'settled' : 'replaced';
  }
  if (outcome.kind === 'ack') end(partition, storedId, 'acked', run);
  else comesBack(partition, storedId, outcome, record);
  return 'settled';
}

/** The delivery has not succeeded. */
function comesBack(
  partition: MemoryPartition,
  storedId: string,
  outcome: Exclude<Outcome, { readonly kind: 'ack' }>,
  record: DeliveryRecord,
): void {
  switch (outcome.kind) {
    case 'retry':
      partition.keepFailure(storedId, outcome);
      partition.counters.retried++;
      partition.schedule(storedId, record, partition.nowUp + outcome.delay, record.attempt);
      break;
    case 'dead':
      partition.keepFailure(storedId, outcome);
      if (outcome.spent === false && outcome.failure.reason === 'expired') partition.counters.expired++;
      die(partition, storedId, record, outcome.spent === false ? record.attempt - 1 : record.attempt);
      break;
    case 'release':
      partition.schedule(storedId, withoutUncalled(record, outcome), record.due, record.attempt - 1);
      break;
    case 'put-off':
      if (outcome.scope === 'key') {
        partition.lines.limits.rest(storedId, partition.nowUp + outcome.delay);
        partition.lines.mode ??= 'limits';
      }
      partition.schedule(storedId, record, partition.nowUp + outcome.delay, record.attempt - 1);
      break;
  }
}

/** A delivery that was no handler call counts as none. */
function withoutUncalled(
  record: DeliveryRecord,
  { called }: Extract<Outcome, { readonly kind: 'release' }>,
): DeliveryRecord {
  return called === false ? { ...record, delivery: record.delivery - 1 } : record;
}

/** A delivery that was no handler call does not count against the rate of its key. */
function giveBackGrant({ lines, nowUp }: MemoryPartition, storedId: string, outcome: Outcome): void {
  if (!('grantedAt' in outcome) || outcome.grantedAt === undefined) return;
  if (outcome.kind === 'release' || !outcome.spent) lines.limits.giveBack(storedId, outcome.grantedAt, nowUp);
}

export function extend(partition: MemoryPartition, lease: number, receipts: readonly Receipt[]): ExtendStatus[] {
  assertLength('The lease', lease);
  return receipts.map((receipt) => {
    const record = currentRecord(partition, receipt);
    if (!record) return 'lost';
    partition.inflight.set(receipt.storedId, partition.now + lease);
    return record.mark?.kind === 'cancelled' ? 'cancelled' : 'extended';
  });
}

export function setAside(
  partition: MemoryPartition,
  { storedId, token }: Receipt,
  failure: Failure,
): string | undefined {
  const { now } = partition;
  const stored = partition.deliveries.get(storedId) ?? {
    token: NO_TOKEN,
    delivery: 0,
    attempt: 0,
    due: now,
    crashes: 0,
  };
  const waitsTill = partition.scheduled.score(storedId) ?? partition.inflight.score(storedId) ?? Infinity;
  if (token === NO_TOKEN ? waitsTill > now : stored.token !== token || stored.mark) return undefined;
  partition.scheduled.delete(storedId);
  partition.errors.set(storedId, { failure, history: [] });
  die(partition, storedId, stored, token === NO_TOKEN ? stored.attempt : Math.max(0, stored.attempt - 1));
  return storedId;
}

export function pause(partition: MemoryPartition): void {
  partition.paused = true;
}

export function hold(partition: MemoryPartition, call: CallId, delay: number): number {
  assertLength('The delay', delay);
  return partition.once(call, () => {
    partition.heldUntil = Math.max(partition.heldUntil, partition.nowUp + delay);
    return partition.heldUntil;
  });
}

export function resume(partition: MemoryPartition): void {
  partition.paused = false;
  partition.heldUntil = 0;
  partition.signal({ kind: 'due', at: partition.now });
}

/** The record of the delivery that a receipt proves; `undefined` if the delivery is not the current one. */
function currentRecord(partition: MemoryPartition, { storedId, token }: Receipt): DeliveryRecord | undefined {
  const record = partition.deliveries.get(storedId);
  return token !== NO_TOKEN && record?.token === token ? record : undefined;
}

function end(partition: MemoryPartition, storedId: string, outcome: 'acked' | 'cancelled', run?: LastRun): void {
  partition.finish(storedId, partition.inflight, outcome, run);
  partition.counters[outcome]++;
}

function scheduleReplacement(
  partition: MemoryPartition,
  storedId: string,
  { due, firstPublishedAt }: Pick<DeliveryRecord, 'due' | 'firstPublishedAt'>,
): void {
  partition.errors.delete(storedId);
  partition.noteWaiting(storedId, { delivery: 0, firstPublishedAt }, due, 0);
  partition.placeAnew(storedId, due);
}

function die(partition: MemoryPartition, storedId: string, { delivery, due }: DeliveryRecord, attempt: number): void {
  partition.inflight.delete(storedId);
  partition.dead.set(storedId, partition.now);
  if (partition.lines.mode !== 'block') partition.lines.leave(storedId);
  partition.deliveries.set(storedId, { token: NO_TOKEN, delivery, attempt, due, crashes: 0 });
  partition.counters.died++;
}
