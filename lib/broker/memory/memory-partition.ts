import type { Failure } from '../../messages/failure.js';
import { SEPARATOR, fromStoredId } from '../../messages/stored-id.js';
import {
  COUNTERS,
  type CallId,
  type CancelResult,
  type ClaimRequest,
  type ClaimResult,
  type ClaimedMessage,
  type DueTime,
  type ExtendStatus,
  type NewMessage,
  type PartitionSignal,
  type PublishResult,
  type Receipt,
  type RescheduleResult,
  type SettleStatus,
  type Settlement,
  type StoredMessage,
} from '../broker.interface.js';
import type { DeliveryRecord } from './delivery-record.js';
import { MemoryDeadLetters } from './memory-dead-letters.js';
import { MemoryFailures } from './memory-failures.js';
import { type MutableCounters, MemoryPartitionAdmin } from './memory-partition-admin.js';
import { SortedSet } from './sorted-set.js';

/** One partition in memory: the same states and rules as the scripts in `redis/lua`, which its names follow. */
export class MemoryPartition {
  readonly admin: MemoryPartitionAdmin;
  readonly #scheduled = new SortedSet();
  readonly #inflight = new SortedSet();
  readonly #messages = new Map<string, string>();
  readonly #records = new Map<string, DeliveryRecord>();
  readonly #failures = new MemoryFailures();
  readonly #answered = new Map<string, { sequence: number; answer: unknown }>();
  readonly #counters = Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as MutableCounters;
  readonly #now: () => number;
  readonly deadLetters: MemoryDeadLetters;
  readonly #signal: (signal: PartitionSignal) => void;

  constructor(now: () => number, signal: (signal: PartitionSignal) => void) {
    this.#now = now;
    this.#signal = signal;
    this.deadLetters = new MemoryDeadLetters({
      now,
      failureOf: (storedId) => this.#failures.of(storedId).failure,
      once: (call, change) => this.#once(call, () => this.#waking(change)),
      schedule: (storedId, due, envelope) => this.#requeue(storedId, due, envelope),
      forget: (storedId) => this.#forget(storedId),
    });
    this.admin = new MemoryPartitionAdmin({
      now,
      signal,
      sets: { scheduled: this.#scheduled, 'in-flight': this.#inflight, dead: this.deadLetters.set },
      counters: this.#counters,
      messages: this.#messages,
      get: (storedId) => this.get(storedId),
      forget: (storedId) => this.#forget(storedId),
      reschedule: (call, storedId, due) => this.reschedule(call, storedId, due),
      once: (call, run) => this.#once(call, run),
    });
  }

  /** The highest token given out so far. */
  get token(): number {
    return this.#counters.delivered;
  }

  get nextDueAt(): number | undefined {
    return this.#scheduled.first?.score;
  }

  publish(call: CallId, messages: readonly NewMessage[]): PublishResult[] {
    return this.#once(call, () => this.#waking(() => messages.map((message) => this.#publishOne(message))));
  }

  cancel(call: CallId, storedId: string): CancelResult {
    return this.#once(call, () => this.#cancel(storedId));
  }

  #cancel(storedId: string): CancelResult {
    if (this.#scheduled.delete(storedId)) {
      this.#forget(storedId);
      this.#counters.cancelled++;
      return 'cancelled';
    }
    const record = this.#records.get(storedId);
    if (!record || this.#inflight.score(storedId) === undefined) return 'not-found';
    record.mark = { kind: 'cancelled' };
    this.#signal({ kind: 'cancelled', storedId, token: record.token });
    return 'in-flight';
  }

  reschedule(call: CallId, storedId: string, due: DueTime): RescheduleResult {
    return this.#once(call, () => this.#waking(() => this.#move(storedId, due)));
  }

  #move(storedId: string, spec: DueTime): RescheduleResult {
    if (this.#scheduled.score(storedId) === undefined) {
      return this.#inflight.score(storedId) === undefined ? 'not-found' : 'in-flight';
    }
    const due = this.#dueTime(spec);
    this.#scheduled.set(storedId, due);
    const record = this.#records.get(storedId);
    if (record) record.due = due;
    return 'rescheduled';
  }

  locate(id: string): string[] {
    const found = [...this.#messages.keys()].filter(
      (storedId) => storedId.includes(SEPARATOR) && fromStoredId(storedId).id === id,
    );
    return found.toSorted();
  }

  claim({ max, lease, knownToken }: Omit<ClaimRequest, 'member'>): ClaimResult {
    const deadline = Math.floor(this.#now()) + lease;
    const lost = this.token > knownToken;
    const paused = this.admin.paused && !lost;
    const takeDue = (): ClaimedMessage[] => (paused ? [] : this.#takeDue(max, deadline));
    const messages = lost ? this.#repeatLost(knownToken, max, deadline) : takeDue();
    const nextAt = Math.min(this.#scheduled.first?.score ?? Infinity, this.#inflight.first?.score ?? Infinity);
    return {
      status: paused ? 'paused' : 'claimed',
      messages,
      token: this.token,
      nextAt: paused || nextAt === Infinity ? undefined : nextAt,
      repaired: 0,
    };
  }

  settle(call: CallId, settlements: readonly Settlement[]): SettleStatus[] {
    return this.#once(call, () => this.#waking(() => settlements.map((settlement) => this.#settleOne(settlement))));
  }

  extend(lease: number, receipts: readonly Receipt[]): ExtendStatus[] {
    return receipts.map(({ storedId, token }) => {
      const record = this.#records.get(storedId);
      if (!record || token === 0 || record.token !== token) return 'lost';
      this.#inflight.set(storedId, Math.floor(this.#now()) + lease);
      return record.mark?.kind === 'cancelled' ? 'cancelled' : 'extended';
    });
  }

  /** Answers whether it was: see {@link MessageStore.setAside}. */
  setAside({ storedId, token }: Receipt, failure: Failure): boolean {
    const now = Math.floor(this.#now());
    const { mark, ...record } = this.#records.get(storedId) ?? { token: 0, delivery: 0, attempt: 0, due: now };
    const waitsTill = this.#scheduled.score(storedId) ?? this.#inflight.score(storedId) ?? Infinity;
    if (token === 0 ? waitsTill > now : record.token !== token || mark) return false;
    this.#scheduled.delete(storedId);
    this.#inflight.delete(storedId);
    this.deadLetters.set.set(storedId, now);
    this.#failures.replace(storedId, failure);
    const attempt = token === 0 ? record.attempt : Math.max(0, record.attempt - 1);
    this.#records.set(storedId, { ...record, token: 0, attempt });
    this.#counters.died++;
    return true;
  }

  get(storedId: string): StoredMessage | undefined {
    const envelope = this.#messages.get(storedId);
    if (envelope === undefined) return undefined;
    const record = this.#records.get(storedId);
    return {
      storedId,
      ...this.admin.place(storedId),
      envelope,
      deliveries: record?.delivery ?? 0,
      attempts: record?.attempt ?? 0,
      ...this.#failures.of(storedId),
    };
  }

  #publishOne({ storedId, envelope, due: spec, onDuplicate }: NewMessage): PublishResult {
    const due = this.#dueTime(spec);
    const stored = this.#messages.get(storedId);
    if (stored !== undefined) {
      const record = this.#records.get(storedId);
      const dueAt =
        this.#scheduled.score(storedId) ?? (record?.mark?.kind === 'replaced' ? record.mark.due : record?.due) ?? due;
      if (onDuplicate === 'ignore') return { status: 'ignored', dueAt };
      if (onDuplicate !== 'replace') return { status: 'rejected', dueAt };
    }
    this.#messages.set(storedId, envelope);
    this.#counters.published++;
    if (this.#inflight.score(storedId) !== undefined) {
      // It must not run twice at once: the running delivery keeps its receipt, and its settle schedules the new message.
      (this.#records.get(storedId) as DeliveryRecord).mark = { kind: 'replaced', due };
    } else {
      this.deadLetters.set.delete(storedId);
      this.#failures.delete(storedId);
      this.#records.delete(storedId);
      this.#scheduled.set(storedId, due);
    }
    return { status: stored === undefined ? 'created' : 'replaced', dueAt: due };
  }

  #takeDue(max: number, deadline: number): ClaimedMessage[] {
    const now = Math.floor(this.#now());
    const claimed: ClaimedMessage[] = [];
    for (const { member: storedId } of this.#inflight.upTo(now)) {
      if (claimed.length === max) return claimed;
      const record = this.#records.get(storedId) as DeliveryRecord;
      if (!this.#conclude(storedId, record)) claimed.push(this.#deliver(storedId, record.due, deadline));
    }
    for (const { member: storedId, score } of this.#scheduled.upTo(now, max - claimed.length)) {
      claimed.push(this.#deliver(storedId, score, deadline));
    }
    return claimed;
  }

  #repeatLost(knownToken: number, max: number, deadline: number): ClaimedMessage[] {
    const lost = [...this.#inflight]
      .map(({ member }) => ({ storedId: member, record: this.#records.get(member) as DeliveryRecord }))
      .filter(({ storedId, record }) => record.token > knownToken && !this.#conclude(storedId, record))
      .slice(0, max);
    for (const { storedId } of lost) this.#inflight.set(storedId, deadline);
    return lost.map(({ storedId, record }) => this.#announce(storedId, record));
  }

  /** What was cancelled or replaced while in flight, and whose delivery nobody will settle any more. */
  #conclude(storedId: string, record: DeliveryRecord): boolean {
    if (record.mark?.kind === 'cancelled') this.#end(storedId, 'cancelled');
    else if (record.mark?.kind === 'replaced') {
      this.#failures.delete(storedId);
      this.#scheduleAgain(storedId, record, record.mark.due, 0);
    }
    return record.mark !== undefined;
  }

  #deliver(storedId: string, due: number, deadline: number): ClaimedMessage {
    const { delivery = 0, attempt = 0 } = this.#records.get(storedId) ?? {};
    const token = ++this.#counters.delivered;
    const record: DeliveryRecord = { token, delivery: delivery + 1, attempt: attempt + 1, due };
    this.#records.set(storedId, record);
    this.#scheduled.delete(storedId);
    this.#inflight.set(storedId, deadline);
    return this.#announce(storedId, record);
  }

  #announce(storedId: string, { token, delivery, attempt, due }: DeliveryRecord): ClaimedMessage {
    return { storedId, envelope: this.#messages.get(storedId) as string, token, delivery, attempt, dueAt: due };
  }

  #settleOne({ storedId, token, outcome }: Settlement): SettleStatus {
    const record = this.#records.get(storedId);
    if (!record || token === 0 || record.token !== token) {
      this.#counters.stale++;
      return 'stale';
    }
    if (record.mark?.kind === 'cancelled' && outcome.kind !== 'ack') {
      this.#end(storedId, 'cancelled');
      return 'cancelled';
    }
    if (record.mark?.kind === 'replaced') {
      if (outcome.kind === 'ack') this.#counters.acked++;
      this.#failures.delete(storedId);
      this.#scheduleAgain(storedId, record, record.mark.due, 0);
      return outcome.kind === 'ack' ? 'settled' : 'replaced';
    }
    switch (outcome.kind) {
      case 'ack':
        this.#end(storedId, 'acked');
        break;
      case 'retry':
        this.#failures.keep(storedId, outcome);
        this.#counters.retried++;
        this.#scheduleAgain(storedId, record, Math.ceil(this.#now()) + outcome.delay, record.attempt);
        break;
      case 'dead':
        this.#failures.keep(storedId, outcome);
        this.#counters.died++;
        this.#inflight.delete(storedId);
        this.deadLetters.set.set(storedId, Math.floor(this.#now()));
        record.token = 0;
        if (outcome.spent === false) {
          record.attempt--;
          if (outcome.failure.reason === 'expired') this.#counters.expired++;
        }
        break;
      case 'release':
        this.#scheduleAgain(storedId, record, record.due, record.attempt - 1);
        break;
      case 'put-off':
        this.#scheduleAgain(storedId, record, Math.ceil(this.#now()) + outcome.delay, record.attempt - 1);
        break;
    }
    return 'settled';
  }

  #end(storedId: string, counter: 'acked' | 'cancelled'): void {
    this.#inflight.delete(storedId);
    this.#forget(storedId);
    this.#counters[counter]++;
  }

  #scheduleAgain(storedId: string, { delivery }: DeliveryRecord, due: number, attempt: number): void {
    this.#inflight.delete(storedId);
    this.#scheduled.set(storedId, due);
    this.#records.set(storedId, { token: 0, delivery, attempt, due });
  }

  #requeue(storedId: string, due: number, envelope: string | undefined): void {
    if (envelope !== undefined) this.#messages.set(storedId, envelope);
    this.#scheduleAgain(storedId, this.#records.get(storedId) as DeliveryRecord, due, 0);
  }

  #forget(storedId: string): void {
    this.#messages.delete(storedId);
    this.#records.delete(storedId);
    this.#failures.delete(storedId);
  }

  #dueTime(due: DueTime): number {
    return 'after' in due ? Math.ceil(this.#now()) + due.after : due.at;
  }

  /** The repeat of a caller's latest call gets the first one's answer. */
  #once<T>({ caller, sequence }: CallId, run: () => T): T {
    const answered = this.#answered.get(caller);
    if (answered?.sequence === sequence) return answered.answer as T;
    const answer = run();
    this.#answered.set(caller, { sequence, answer });
    return answer;
  }

  /** Tells the owner where the head of the partition comes earlier after `change` than before. */
  #waking<T>(change: () => T): T {
    const before = this.nextDueAt;
    const result = change();
    const after = this.nextDueAt;
    if (after !== undefined && (before === undefined || after < before)) this.#signal({ kind: 'due', at: after });
    return result;
  }
}
