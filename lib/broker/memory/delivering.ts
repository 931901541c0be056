import type { Failure } from '../../messages/failure.js';
import { assertDelays, assertLength } from '../assert-times.js';
import type {
  CallId,
  ClaimRequest,
  ClaimResult,
  ClaimedMessage,
  ExtendStatus,
  Receipt,
  SettleStatus,
  Settlement,
} from '../broker.interface.js';
import type { DeliveryRecord, MemoryPartition } from './memory-partition.js';

// From the claim of a message to its end: see the scripts of the same names.

export function claim(partition: MemoryPartition, { member, max, lease, knownToken }: ClaimRequest): ClaimResult {
  assertLength('The lease', lease);
  if (partition.owner?.member !== member) return { status: 'not-owner' };
  const deadline = partition.now + lease;
  const lost = partition.token > knownToken;
  const paused = partition.paused && !lost;
  const takeDue = (): ClaimedMessage[] => (paused ? [] : takeAllDue(partition, max, deadline));
  const messages = lost ? repeatLost(partition, knownToken, max, deadline) : takeDue();
  const nextAt = Math.min(partition.nextDueAt ?? Infinity, partition.inflight.first?.score ?? Infinity);
  return {
    status: paused ? 'paused' : 'claimed',
    messages,
    token: partition.token,
    nextAt: paused || nextAt === Infinity ? undefined : nextAt,
    repaired: 0,
  };
}

function takeAllDue(partition: MemoryPartition, max: number, deadline: number): ClaimedMessage[] {
  const { now } = partition;
  const claimed: ClaimedMessage[] = [];
  for (const { member: storedId } of partition.inflight.upTo(now)) {
    if (claimed.length === max) return claimed;
    const record = partition.deliveries.get(storedId) as DeliveryRecord;
    if (!conclude(partition, storedId, record)) claimed.push(deliver(partition, storedId, record.due, deadline));
  }
  for (const { member: storedId, score } of partition.scheduled.upTo(now, max - claimed.length)) {
    claimed.push(deliver(partition, storedId, score, deadline));
  }
  return claimed;
}

function repeatLost(partition: MemoryPartition, knownToken: number, max: number, deadline: number): ClaimedMessage[] {
  const lost = [...partition.inflight]
    .map(({ member }) => ({ storedId: member, record: partition.deliveries.get(member) as DeliveryRecord }))
    .filter(({ storedId, record }) => record.token > knownToken && !conclude(partition, storedId, record))
    .slice(0, max);
  for (const { storedId } of lost) partition.inflight.set(storedId, deadline);
  return lost.map(({ storedId, record }) => announce(partition, storedId, record));
}

/**
 * Ends what was cancelled while in flight, or schedules what was replaced, once nobody will settle its delivery any more.
 *
 * @returns whether the message was one of those
 */
function conclude(partition: MemoryPartition, storedId: string, record: DeliveryRecord): boolean {
  if (record.mark?.kind === 'cancelled') end(partition, storedId, 'cancelled');
  else if (record.mark?.kind === 'replaced') scheduleReplacement(partition, storedId, record, record.mark.due);
  return record.mark !== undefined;
}

function deliver(partition: MemoryPartition, storedId: string, due: number, deadline: number): ClaimedMessage {
  const { delivery = 0, attempt = 0 } = partition.deliveries.get(storedId) ?? {};
  const token = ++partition.counters.delivered;
  const record: DeliveryRecord = { token, delivery: delivery + 1, attempt: attempt + 1, due };
  partition.deliveries.set(storedId, record);
  partition.scheduled.delete(storedId);
  partition.inflight.set(storedId, deadline);
  return announce(partition, storedId, record);
}

function announce(
  partition: MemoryPartition,
  storedId: string,
  { token, delivery, attempt, due }: DeliveryRecord,
): ClaimedMessage {
  return { storedId, envelope: partition.messages.get(storedId) as string, token, delivery, attempt, dueAt: due };
}

export function settle(partition: MemoryPartition, call: CallId, settlements: readonly Settlement[]): SettleStatus[] {
  assertDelays(settlements);
  return partition.once(call, () =>
    partition.waking(() => settlements.map((settlement) => settleOne(partition, settlement))),
  );
}

function settleOne(partition: MemoryPartition, { storedId, token, outcome }: Settlement): SettleStatus {
  const record = currentRecord(partition, { storedId, token });
  if (!record) {
    partition.counters.stale++;
    return 'stale';
  }
  if (record.mark?.kind === 'cancelled' && outcome.kind !== 'ack') {
    end(partition, storedId, 'cancelled');
    return 'cancelled';
  }
  if (record.mark?.kind === 'replaced') {
    if (outcome.kind === 'ack') partition.counters.acked++;
    scheduleReplacement(partition, storedId, record, record.mark.due);
    return outcome.kind === 'ack' ? 'settled' : 'replaced';
  }
  switch (outcome.kind) {
    case 'ack':
      end(partition, storedId, 'acked');
      break;
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
      partition.schedule(storedId, record, partition.nowUp + outcome.delay, record.attempt - 1);
      break;
  }
  return 'settled';
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
  const stored = partition.deliveries.get(storedId) ?? { token: 0, delivery: 0, attempt: 0, due: now };
  const waitsTill = partition.scheduled.score(storedId) ?? partition.inflight.score(storedId) ?? Infinity;
  if (token === 0 ? waitsTill > now : stored.token !== token || stored.mark) return undefined;
  partition.scheduled.delete(storedId);
  partition.errors.set(storedId, { failure, history: [] });
  die(partition, storedId, stored, token === 0 ? stored.attempt : Math.max(0, stored.attempt - 1));
  return storedId;
}

export function pause(partition: MemoryPartition): void {
  partition.paused = true;
}

export function resume(partition: MemoryPartition): void {
  partition.paused = false;
  partition.signal({ kind: 'due', at: partition.now });
}

/** The record of the delivery that a receipt proves; `undefined` if the delivery is not the current one. */
function currentRecord(partition: MemoryPartition, { storedId, token }: Receipt): DeliveryRecord | undefined {
  const record = partition.deliveries.get(storedId);
  return token !== 0 && record?.token === token ? record : undefined;
}

function end(partition: MemoryPartition, storedId: string, counter: 'acked' | 'cancelled'): void {
  partition.remove(storedId, partition.inflight);
  partition.counters[counter]++;
}

function scheduleReplacement(partition: MemoryPartition, storedId: string, record: DeliveryRecord, due: number): void {
  partition.errors.delete(storedId);
  partition.schedule(storedId, record, due, 0);
}

function die(partition: MemoryPartition, storedId: string, { delivery, due }: DeliveryRecord, attempt: number): void {
  partition.inflight.delete(storedId);
  partition.dead.set(storedId, partition.now);
  partition.deliveries.set(storedId, { token: 0, delivery, attempt, due });
  partition.counters.died++;
}
