import type { SettleStatus } from '../../../../lib/messages/settle-status.js';
import { assertLength } from '../../../../lib/store/calls/assert-times.js';
import {
  type ClaimRequest,
  type ClaimResult,
  type ClaimedMessage,
  SUSPECT_ROOM,
} from '../../../../lib/store/deliveries/claim.js';
import { AT_ONCE, type BeginWindow } from '../../../../lib/store/deliveries/permits.js';
import { tokenOf } from '../../../../lib/store/deliveries/receipt.js';
import { epochOf, sessionOfOwner } from '../../../../lib/store/fleet/owner.js';
import { conclude, settleOne } from './delivering.js';
import { type KeyTerms, NO_RATE, beginOf } from './key-limits.js';
import type { DeliveryRecord, LatestClaim, ModelPartition } from './model-partition.js';

// How messages are handed out: see `claim`.

/** From how many crashes on a message is a suspect, and a suspect runs alone. */
const SUSPECT = 2;
const ALONE = 3;

/** A claim looks at most so often, each time at as many messages as it still lacks; and so often at those whose lease has ended. */
const LOOKS = 4;
const LOOKS_AT_ENDED = 3;

/** For how long a repeat of a claim is answered what was handed out at most once, in milliseconds. */
const KEPT_ONCE = 120_000;

export function claim(partition: ModelPartition, request: ClaimRequest): ClaimResult {
  const { owner, sequence, lease, max, room, finished, order, keyLimits, begin = AT_ONCE } = request;
  const limits = keyLimits && partition.lines.limits.termsAt(partition.nowUp, keyLimits, begin);
  assertLength('The lease', lease);
  const epoch = epochOf(owner);
  const isOwner = partition.owner === owner && sessionOfOwner(owner) !== undefined;
  const latest = latestOf(partition, epoch);
  if (!isOwner || sequence < latest.sequence) return { status: 'not-owner', owner: partition.owner };

  const isRepeat = sequence === latest.sequence;
  let { ended } = latest;
  if (!isRepeat) {
    partition.finished.want(finished);
    ended = endedBy(partition, request);
  }
  const madeSome = isRepeat && latest.delivered > request.delivered;
  const status = madeSome ? 'claimed' : statusOf(partition);
  if (limits) partition.lines.mode ??= order ?? 'limits';
  const before = Math.max(latest.delivered, request.delivered);
  const process = sessionOfOwner(owner);
  const deliveries = new Deliveries(partition, { epoch, process, delivered: before, lease, limits });
  if (madeSome) deliveries.repeat(request.delivered, latest.once);
  else if (!isRepeat && status === 'claimed') deliveries.takeDue(max, room);
  const granted = isRepeat ? latest.granted : deliveries.granted;
  if (!isRepeat) {
    const once = lease === 0 ? [...deliveries.messages] : [];
    const onceUntil = partition.now + KEPT_ONCE;
    partition.latestClaim = { epoch, sequence, delivered: deliveries.delivered, once, onceUntil, granted, ended };
  }
  const answer = { ...answerOf(partition, status, deliveries, request), ended };
  if (!limits) partition.lines.forgetLimits(partition.now);
  if (!granted) return answer;
  const { at, beginsAt: from } = granted;
  return { ...answer, grantedAt: at, begins: { from, until: from + begin.slack, lead: from - partition.nowUp } };
}

/** Ends the deliveries that have succeeded; `undefined` if there are none. */
function endedBy(partition: ModelPartition, { succeeded = [] }: ClaimRequest): readonly SettleStatus[] | undefined {
  if (succeeded.length === 0) return undefined;
  return succeeded.map((receipt) => settleOne(partition, { ...receipt, outcome: { kind: 'ack' } }, undefined));
}

function answerOf(
  partition: ModelPartition,
  status: 'claimed' | 'paused' | 'held',
  { messages, delivered, held }: Deliveries,
  { max, counts, keyLimits, begin = AT_ONCE }: ClaimRequest,
): Exclude<ClaimResult, { status: 'not-owner' }> {
  const next = nextAt(partition, held > 0 && messages.length < max, keyLimits?.rate ? begin : NO_RATE);
  return {
    status,
    messages,
    delivered,
    nextAt: status === 'held' ? partition.heldUntil : next,
    repaired: 0,
    heldBack: held > 0,
    keepsFinished: partition.finished.limits !== undefined,
    grantedAt: undefined,
    begins: undefined,
    due: counts ? dueCount(partition, held) : undefined,
  };
}

/** The latest claim in this epoch, as far as it is still known. */
function latestOf({ latestClaim, now }: ModelPartition, epoch: string): Omit<LatestClaim, 'epoch' | 'onceUntil'> {
  if (latestClaim.epoch !== epoch) return { sequence: 0, delivered: 0, once: [] };
  return now < latestClaim.onceUntil ? latestClaim : { ...latestClaim, once: [] };
}

/** How many messages are due but for suspects that are held back. */
function dueCount({ scheduled, inflight, now }: ModelPartition, held: number): number {
  return scheduled.upTo(now).length + Math.max(0, inflight.upTo(now).length - held);
}

function statusOf({ paused, heldUntil, now }: ModelPartition): 'claimed' | 'paused' | 'held' {
  return paused ? 'paused' : heldUntil > now ? 'held' : 'claimed';
}

/** @param isAllHeld whether the deliveries whose leases have ended are all held back */
function nextAt(
  { nextDueAt, inflight, lines, now }: ModelPartition,
  isAllHeld: boolean,
  { lead, ahead }: BeginWindow,
): number | undefined {
  const nextLease = [...inflight].find(({ score }) => !isAllHeld || score > now)?.score;
  const at = Math.min(nextDueAt ?? Infinity, nextLease ?? Infinity, (lines.limits.nextAt ?? Infinity) - lead - ahead);
  return at === Infinity ? undefined : at;
}

/** How much room a message takes after so many crashes. */
function weightOf(crashes: number): number {
  return crashes >= ALONE ? SUSPECT_ROOM : crashes >= SUSPECT ? 1 : 0;
}

interface DeliveredBy {
  readonly epoch: string;
  readonly process: string | undefined;
  /** How many the owner has made before. */
  readonly delivered: number;
  /** 0: at most once. */
  readonly lease: number;
  /** Of each key. */
  readonly limits: KeyTerms | undefined;
}

/** The deliveries of one claim. */
class Deliveries {
  readonly messages: ClaimedMessage[] = [];
  delivered: number;
  /** Suspects for which there was no room. */
  held = 0;
  /** Under what time the deliveries stand in the logs of their keys. */
  grantedAt: number | undefined;
  #looks = 0;
  readonly #partition: ModelPartition;
  readonly #by: DeliveredBy;

  constructor(partition: ModelPartition, by: DeliveredBy) {
    this.#partition = partition;
    this.#by = by;
    this.delivered = by.delivered;
  }

  /** What the logs of keys have of it. */
  get granted(): LatestClaim['granted'] {
    if (this.grantedAt === undefined) return undefined;
    return { at: this.grantedAt, beginsAt: beginOf(this.#by.limits, this.#partition.nowUp) };
  }

  takeDue(max: number, room = SUSPECT_ROOM): void {
    const { now, nowUp, inflight, deliveries, lines } = this.#partition;
    let free = room;
    lines.wake(max, beginOf(this.#by.limits, now), this.#by.limits, nowUp);
    for (const { member: storedId } of this.#lookedAt(inflight.upTo(now), max, LOOKS_AT_ENDED)) {
      if (this.messages.length === max) return;
      const record = deliveries.get(storedId) as DeliveryRecord;
      if (conclude(this.#partition, storedId, record)) continue;
      const weight = weightOf(record.crashes + 1);
      const waitsUntil = weight > free ? undefined : lines.limits.waitsUntil(storedId, this.#by.limits, nowUp);
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
    lines.wake(max - this.messages.length, Infinity, this.#by.limits, nowUp);
    if (lines.mode === 'limits') lines.limits.takeBackAllowed(this.#by.limits, nowUp);
  }

  #takeScheduled(max: number): void {
    const { now, nowUp, scheduled, deliveries, lines } = this.#partition;
    for (const { member: storedId, score } of this.#lookedAt(scheduled.upTo(now), max, LOOKS)) {
      if (this.messages.length === max) return;
      if (lines.limits.admits(storedId, this.#by.limits, nowUp)) {
        const record = deliveries.get(storedId);
        const { delivery = 0, attempt = 0 } = record ?? {};
        const due = lines.isOrdered ? (record?.due ?? score) : score;
        this.#deliver(storedId, { delivery: delivery + 1, attempt: attempt + 1, crashes: 0, due }, true);
      } else if (lines.isOrdered) {
        scheduled.set(storedId, lines.limits.restForRate(storedId, this.#by.limits, nowUp));
      } else {
        lines.limits.park(storedId, score, this.#by.limits, nowUp);
      }
    }
  }

  /** What is held back by limits, or is in nobody's hands any more, is looked at as well, so that a claim may end before it has enough. */
  *#lookedAt<T>(sorted: readonly T[], max: number, most: number): Generator<T> {
    let left = 0;
    for (const one of sorted) {
      if (left === 0 && !this.#look(max, most)) return;
      left = (left || max - this.messages.length) - 1;
      yield one;
    }
    // Only a look that finds less than it was for tells that there is no more.
    if (left === 0) this.#look(max, most);
  }

  #look(max: number, most: number): boolean {
    if (this.messages.length >= max || this.#looks >= most) return false;
    this.#looks++;
    return true;
  }

  /**
   * Answers the deliveries of this epoch with higher numbers than `known`, with new leases. What was cancelled or replaced
   * meanwhile is left as it is, since the first reply may have arrived after all, and its handler may run.
   *
   * @param once what they were, if they are delivered at most once
   */
  repeat(known: number, once: readonly ClaimedMessage[]): void {
    if (this.#by.lease === 0) {
      this.messages.push(...once);
      return;
    }
    const { inflight, deliveries } = this.#partition;
    const tokens = new Set<string>();
    for (let number = known + 1; number <= this.delivered; number++) tokens.add(tokenOf(this.#by.epoch, number));
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
    const { epoch, limits } = this.#by;
    const counted = isFresh && !lines.isOrdered;
    this.grantedAt = lines.limits.began(storedId, counted, limits, nowUp) ?? this.grantedAt;
    const record: DeliveryRecord = { ...counts, token: tokenOf(epoch, ++this.delivered) };
    counters.delivered++;
    deliveries.set(storedId, record);
    scheduled.delete(storedId);
    this.#announce(storedId, record);
  }

  #announce(storedId: string, { token, delivery, attempt, due, crashes }: DeliveryRecord): void {
    const { inflight, messages, now } = this.#partition;
    const { lease, process } = this.#by;
    inflight.set(storedId, now + lease);
    const envelope = messages.get(storedId) as string;
    this.messages.push({ storedId, envelope, token, delivery, attempt, dueAt: due, weight: weightOf(crashes) });
    if (lease === 0) this.#partition.finish(storedId, inflight, 'delivered', { process });
  }
}
