import type { Failure } from '../../messages/failure.js';
import { assertDelays, assertLength } from '../assert-times.js';
import {
  SUSPECT_ROOM,
  type CallId,
  type ClaimRequest,
  type ClaimResult,
  type ClaimedMessage,
  type ExtendStatus,
  type Limits,
  NO_TOKEN,
  type Outcome,
  type Receipt,
  type SettleStatus,
  type Settlement,
  epochOf,
  sessionOfOwner,
  tokenOf,
} from '../broker.interface.js';
import type { DeliveryRecord, MemoryPartition } from './memory-partition.js';

// From the claim of a message to its end: see the scripts of the same names.

/** From how many crashes on a message is a suspect, and a suspect runs alone. */
const SUSPECT = 2;
const ALONE = 3;

export function claim(partition: MemoryPartition, request: ClaimRequest): ClaimResult {
  const { owner, sequence, lease, max, room, order, keyLimits: limits, counts } = request;
  assertLength('The lease', lease);
  const epoch = epochOf(owner);
  const isOwner = partition.owner === owner && sessionOfOwner(owner) !== undefined;
  const latest = partition.latestClaim.epoch === epoch ? partition.latestClaim : { sequence: 0, delivered: 0 };
  if (!isOwner || sequence < latest.sequence) return { status: 'not-owner', owner: partition.owner };

  const isRepeat = sequence === latest.sequence;
  const madeSome = isRepeat && latest.delivered > request.delivered;
  const status = madeSome ? 'claimed' : statusOf(partition);
  if (limits) partition.lines.mode ??= order ?? 'limits';
  const startsAfter = Math.max(latest.delivered, request.delivered);
  const deliveries = new Deliveries(partition, { epoch, delivered: startsAfter, lease, limits });
  if (madeSome) deliveries.repeat(request.delivered);
  else if (!isRepeat && status === 'claimed') deliveries.takeDue(max, room);
  const { messages, delivered, held, grantedAt } = deliveries;
  if (!isRepeat) partition.latestClaim = { epoch, sequence, delivered };
  const next = nextAt(partition, held > 0 && messages.length < max);
  const ended = partition.inflight.upTo(partition.now).length;
  if (!limits) partition.lines.forgetLimits(partition.now);
  return {
    status,
    messages,
    delivered,
    nextAt: status === 'held' ? partition.heldUntil : next,
    repaired: 0,
    heldBack: held > 0,
    ...(grantedAt === undefined ? {} : { grantedAt }),
    ...(counts ? { due: partition.scheduled.upTo(partition.now).length + Math.max(0, ended - held) } : {}),
  };
}

function statusOf({ paused, heldUntil, now }: MemoryPartition): 'claimed' | 'paused' | 'held' {
  return paused ? 'paused' : heldUntil > now ? 'held' : 'claimed';
}

/** @param isAllHeld whether the deliveries whose leases have ended are all held back */
function nextAt({ nextDueAt, inflight, lines, now }: MemoryPartition, isAllHeld: boolean): number | undefined {
  const nextLease = [...inflight].find(({ score }) => !isAllHeld || score > now)?.score;
  const at = Math.min(nextDueAt ?? Infinity, nextLease ?? Infinity, lines.limits.nextAt ?? Infinity);
  return at === Infinity ? undefined : at;
}

/** How much room a message takes after so many crashes. */
function weightOf(crashes: number): number {
  return crashes >= ALONE ? SUSPECT_ROOM : crashes >= SUSPECT ? 1 : 0;
}

interface DeliveriesOptions {
  readonly epoch: string;
  /** How many the owner has made before. */
  readonly delivered: number;
  readonly lease: number;
  /** Of each key. */
  readonly limits: Limits | undefined;
}

/** The deliveries of one claim. */
class Deliveries {
  readonly messages: ClaimedMessage[] = [];
  delivered: number;
  /** Suspects for which there was no room. */
  held = 0;
  /** Under what time the deliveries stand in the logs of their keys. */
  grantedAt: number | undefined;
  readonly #partition: MemoryPartition;
  readonly #epoch: string;
  readonly #deadline: number;
  readonly #limits: Limits | undefined;

  constructor(partition: MemoryPartition, { epoch, delivered, lease, limits }: DeliveriesOptions) {
    this.#partition = partition;
    this.#epoch = epoch;
    this.delivered = delivered;
    this.#deadline = partition.now + lease;
    this.#limits = limits;
  }

  takeDue(max: number, room = SUSPECT_ROOM): void {
    const { now, nowUp, inflight, deliveries, lines } = this.#partition;
    let free = room;
    lines.wake(max, now, this.#limits, nowUp);
    for (const { member: storedId } of inflight.upTo(now)) {
      if (this.messages.length === max) return;
      const record = deliveries.get(storedId) as DeliveryRecord;
      if (conclude(this.#partition, storedId, record)) continue;
      const weight = weightOf(record.crashes + 1);
      const waitsUntil = weight > free ? undefined : lines.limits.waitsUntil(storedId, this.#limits, nowUp);
      if (weight > free) {
        this.held++;
      } else if (waitsUntil !== undefined) {
        inflight.set(storedId, waitsUntil);
      } else {
        free -= weight;
        this.#redeliver(storedId, record);
      }
    }
    this.#takeScheduled(max);
    if (this.messages.length === max) return;
    // Limits may have changed.
    lines.wake(max - this.messages.length, Infinity, this.#limits, nowUp);
    if (lines.mode === 'limits') lines.limits.takeBackAllowed(this.#limits, nowUp);
  }

  #takeScheduled(max: number): void {
    const { now, nowUp, scheduled, deliveries, lines } = this.#partition;
    for (const { member: storedId, score } of scheduled.upTo(now)) {
      if (this.messages.length === max) return;
      if (lines.limits.admits(storedId, this.#limits, nowUp)) {
        const record = deliveries.get(storedId);
        const { delivery = 0, attempt = 0 } = record ?? {};
        const due = lines.isOrdered ? (record?.due ?? score) : score;
        this.#deliver(storedId, { delivery: delivery + 1, attempt: attempt + 1, crashes: 0, due }, true);
      } else if (lines.isOrdered) {
        scheduled.set(storedId, lines.limits.restForRate(storedId, this.#limits, nowUp));
      } else {
        lines.limits.park(storedId, score, this.#limits, nowUp);
      }
    }
  }

  /**
   * Answers the deliveries of this epoch with higher numbers than `known`, with new leases. What was cancelled or replaced
   * meanwhile is left as it is, since the first reply may have arrived after all, and its handler may run.
   */
  repeat(known: number): void {
    const { inflight, deliveries } = this.#partition;
    const tokens = new Set<string>();
    for (let number = known + 1; number <= this.delivered; number++) tokens.add(tokenOf(this.#epoch, number));
    const lost = [...inflight]
      .map(({ member }) => ({ storedId: member, record: deliveries.get(member) as DeliveryRecord }))
      .filter(({ record }) => tokens.has(record.token) && !record.mark);
    for (const { storedId, record } of lost) this.#announce(storedId, record);
  }

  /** Delivers what was not settled before its lease has ended. Only what ran alone has spent an attempt by that. */
  #redeliver(storedId: string, { delivery, attempt, crashes, due }: DeliveryRecord): void {
    const spent = crashes >= ALONE ? attempt + 1 : attempt;
    this.#deliver(storedId, { delivery: delivery + 1, attempt: spent, crashes: crashes + 1, due }, false);
  }

  #deliver(storedId: string, counts: Omit<DeliveryRecord, 'token' | 'mark'>, isFresh: boolean): void {
    const { deliveries, scheduled, counters, lines, nowUp } = this.#partition;
    const counted = isFresh && !lines.isOrdered;
    this.grantedAt = lines.limits.began(storedId, counted, this.#limits, nowUp) ?? this.grantedAt;
    const record: DeliveryRecord = { ...counts, token: tokenOf(this.#epoch, ++this.delivered) };
    counters.delivered++;
    deliveries.set(storedId, record);
    scheduled.delete(storedId);
    this.#announce(storedId, record);
  }

  #announce(storedId: string, { token, delivery, attempt, due, crashes }: DeliveryRecord): void {
    const { inflight, messages } = this.#partition;
    inflight.set(storedId, this.#deadline);
    const envelope = messages.get(storedId) as string;
    this.messages.push({ storedId, envelope, token, delivery, attempt, dueAt: due, weight: weightOf(crashes) });
  }
}

/**
 * Ends what was cancelled while in flight, or schedules what was replaced, once nobody will settle its delivery any more.
 *
 * @returns whether the message was one of those
 */
function conclude(partition: MemoryPartition, storedId: string, record: DeliveryRecord): boolean {
  if (record.mark?.kind === 'cancelled') end(partition, storedId, 'cancelled');
  else if (record.mark?.kind === 'replaced') scheduleReplacement(partition, storedId, record.mark);
  return record.mark !== undefined;
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
  giveBackGrant(partition, storedId, outcome);
  if (record.mark?.kind === 'cancelled' && outcome.kind !== 'ack') {
    end(partition, storedId, 'cancelled');
    return 'cancelled';
  }
  if (record.mark?.kind === 'replaced') {
    if (outcome.kind === 'ack') partition.counters.acked++;
    scheduleReplacement(partition, storedId, record.mark);
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
      if (outcome.scope === 'key') {
        partition.lines.limits.rest(storedId, partition.nowUp + outcome.delay);
        partition.lines.mode ??= 'limits';
      }
      partition.schedule(storedId, record, partition.nowUp + outcome.delay, record.attempt - 1);
      break;
  }
  return 'settled';
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

function end(partition: MemoryPartition, storedId: string, counter: 'acked' | 'cancelled'): void {
  partition.remove(storedId, partition.inflight);
  partition.counters[counter]++;
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
