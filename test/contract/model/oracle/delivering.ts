import { assertDelays, assertLength } from '../../../../lib/store/calls/assert-times.js';
import type { SettleStatus } from '../../../../lib/messages/settle-status.js';
import { NO_TOKEN, type Receipt } from '../../../../lib/store/deliveries/receipt.js';
import type { ExtendStatus, Outcome, Settlement } from '../../../../lib/store/deliveries/settle.js';
import { type Owner, released } from '../../../../lib/store/fleet/owner.js';
import type { AcquireResult } from '../../../../lib/store/fleet/sessions.js';
import type { CallId } from '../../../../lib/store/partition.js';
import type { DeliveryRecord, LastRun, ModelPartition } from './model-partition.js';

// From the claim of a message to its end: see the scripts of the same names, and `claiming.ts`.

/**
 * Ends what was cancelled while in flight, or schedules what was replaced, once nobody will settle its delivery any more.
 *
 * @returns whether the message was one of those
 */
export function conclude(partition: ModelPartition, storedId: string, record: DeliveryRecord): boolean {
  if (record.mark?.kind === 'cancelled') end(partition, storedId, 'cancelled');
  else if (record.mark?.kind === 'replaced') scheduleReplacement(partition, storedId, record.mark);
  return record.mark !== undefined;
}

export function settle(
  partition: ModelPartition,
  call: CallId,
  settlements: readonly Settlement[],
  process?: string,
): SettleStatus[] {
  assertDelays(settlements);
  return partition.once(call, () => settlements.map((settlement) => settleOne(partition, settlement, process)));
}

export function settleOne(
  partition: ModelPartition,
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
  partition: ModelPartition,
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
      partition.schedule(storedId, record, record.due, record.attempt - 1);
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

/** A delivery that was no handler call does not count against the rate of its key. */
function giveBackGrant({ lines, nowUp }: ModelPartition, storedId: string, outcome: Outcome): void {
  if (!('grantedAt' in outcome) || outcome.grantedAt === undefined) return;
  if (outcome.kind === 'release' || !outcome.spent) lines.limits.giveBack(storedId, outcome.grantedAt, nowUp);
}

export function extend(partition: ModelPartition, lease: number, receipts: readonly Receipt[]): ExtendStatus[] {
  assertLength('The lease', lease);
  return receipts.map((receipt) => {
    const record = currentRecord(partition, receipt);
    if (!record) return 'lost';
    partition.inflight.set(receipt.storedId, partition.now + lease);
    return record.mark?.kind === 'cancelled' ? 'cancelled' : 'extended';
  });
}

export function pause(partition: ModelPartition): void {
  partition.paused = true;
}

export function hold(partition: ModelPartition, call: CallId, delay: number): number {
  assertLength('The delay', delay);
  return partition.once(call, () => {
    partition.heldUntil = Math.max(partition.heldUntil, partition.nowUp + delay);
    return partition.heldUntil;
  });
}

export function resume(partition: ModelPartition): void {
  partition.paused = false;
  partition.heldUntil = 0;
}

/** The record of the delivery that a receipt proves; `undefined` if the delivery is not the current one. */
function currentRecord(partition: ModelPartition, { storedId, token }: Receipt): DeliveryRecord | undefined {
  const record = partition.deliveries.get(storedId);
  return token !== NO_TOKEN && record?.token === token ? record : undefined;
}

function end(partition: ModelPartition, storedId: string, outcome: 'acked' | 'cancelled', run?: LastRun): void {
  partition.finish(storedId, partition.inflight, outcome, run);
  partition.counters[outcome]++;
}

function scheduleReplacement(
  partition: ModelPartition,
  storedId: string,
  { due, firstPublishedAt }: Pick<DeliveryRecord, 'due' | 'firstPublishedAt'>,
): void {
  partition.errors.delete(storedId);
  partition.noteWaiting(storedId, { delivery: 0, firstPublishedAt }, due, 0);
  partition.placeAnew(storedId, due);
}

function die(partition: ModelPartition, storedId: string, { delivery, due }: DeliveryRecord, attempt: number): void {
  partition.inflight.delete(storedId);
  partition.dead.set(storedId, partition.now);
  if (partition.lines.mode !== 'block') partition.lines.leave(storedId);
  partition.deliveries.set(storedId, { token: NO_TOKEN, delivery, attempt, due, crashes: 0 });
  partition.counters.died++;
}

export function acquire(partition: ModelPartition, owner: Owner, replaces: Owner | undefined): AcquireResult {
  const stored = partition.owner;
  if (stored !== owner && stored !== replaces) return { acquired: false, owner: stored };
  partition.owner = owner;
  return { acquired: true };
}

export function release(partition: ModelPartition, owner: Owner): void {
  if (partition.owner === owner) partition.owner = released(owner);
}
