import { MAX_HISTORY } from '../../messages/failed-attempt.js';
import type { FailureRecord } from '../../messages/failure-record.js';
import type { Clock } from '../../time/clock.js';
import {
  COUNTERS,
  type CallId,
  type DueTime,
  type Outcome,
  type PartitionCounters,
  type PartitionSignal,
  type StoredMessage,
} from '../broker.interface.js';
import { SortedSet } from './sorted-set.js';

type MutableCounters = { -readonly [K in keyof PartitionCounters]: PartitionCounters[K] };

/** What is kept of a message once it was delivered. */
export interface DeliveryRecord {
  /** 0 while the message is not in flight. */
  token: number;
  delivery: number;
  attempt: number;
  due: number;
  /** What happened to the message while it was in flight. */
  mark?: { kind: 'cancelled' } | { kind: 'replaced'; due: number };
}

export interface MemoryPartitionOptions {
  readonly clock: Clock;
  /** Tells whoever watches the partition. */
  readonly signal: (signal: PartitionSignal) => void;
}

/**
 * The state of one partition in memory: what Redis keeps of it, under the names of its keys. The operations are functions in
 * the files beside this one; each follows the rules of the script of its name in `redis/lua`.
 */
export class MemoryPartition {
  readonly scheduled = new SortedSet();
  readonly inflight = new SortedSet();
  readonly dead = new SortedSet();
  readonly messages = new Map<string, string>();
  readonly deliveries = new Map<string, DeliveryRecord>();
  readonly errors = new Map<string, FailureRecord>();
  readonly counters = Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as MutableCounters;
  readonly signal: (signal: PartitionSignal) => void;
  paused = false;
  readonly #clock: Clock;
  readonly #answered = new Map<string, { readonly sequence: number; readonly answer: unknown }>();
  #owner: { readonly member: string; readonly expiresAt: number } | undefined;

  constructor({ clock, signal }: MemoryPartitionOptions) {
    this.#clock = clock;
    this.signal = signal;
  }

  /** Epoch milliseconds rounded down: decides what is due. */
  get now(): number {
    return Math.floor(this.#clock.now());
  }

  /** Epoch milliseconds rounded up: delays are added to it, so that nothing is early. */
  get nowUp(): number {
    return Math.ceil(this.#clock.now());
  }

  get nextDueAt(): number | undefined {
    return this.scheduled.first?.score;
  }

  /** The highest token given out so far. */
  get token(): number {
    return this.counters.delivered;
  }

  /** The member that owns the partition, unless its session has ended. */
  get owner(): { readonly member: string; readonly expiresAt: number } | undefined {
    return this.#owner && this.#owner.expiresAt > this.#clock.now() ? this.#owner : undefined;
  }

  /** @param session milliseconds */
  own(member: string, session: number): void {
    this.#owner = { member, expiresAt: this.#clock.now() + session };
  }

  disown(): void {
    this.#owner = undefined;
  }

  set(state: StoredMessage['state']): SortedSet {
    return { scheduled: this.scheduled, 'in-flight': this.inflight, dead: this.dead }[state];
  }

  dueTime(due: DueTime): number {
    return 'after' in due ? this.nowUp + due.after : due.at;
  }

  /** Schedules a message that is in no set, or in flight. */
  schedule(storedId: string, { delivery }: Pick<DeliveryRecord, 'delivery'>, due: number, attempt: number): void {
    this.inflight.delete(storedId);
    this.scheduled.set(storedId, due);
    this.deliveries.set(storedId, { token: 0, delivery, attempt, due });
  }

  keepFailure(storedId: string, { failure, failedAttempt }: Extract<Outcome, { readonly failure: unknown }>): void {
    const history = this.errors.get(storedId)?.history ?? [];
    this.errors.set(storedId, {
      failure,
      history: failedAttempt ? [failedAttempt, ...history].slice(0, MAX_HISTORY) : history,
    });
  }

  /** Removes a message and all that is stored of it. */
  remove(storedId: string, set: SortedSet): void {
    set.delete(storedId);
    this.messages.delete(storedId);
    this.deliveries.delete(storedId);
    this.errors.delete(storedId);
  }

  /** Answers the repeat of a caller's latest call as the first one was answered. */
  once<T>({ caller, sequence }: CallId, run: () => T): T {
    const answered = this.#answered.get(caller);
    if (answered?.sequence === sequence) return answered.answer as T;
    const answer = run();
    this.#answered.set(caller, { sequence, answer });
    return answer;
  }

  /** Signals the owner if the head of the partition is earlier after the change than before. */
  waking<T>(change: () => T): T {
    const before = this.nextDueAt;
    const result = change();
    const after = this.nextDueAt;
    if (after !== undefined && (before === undefined || after < before)) this.signal({ kind: 'due', at: after });
    return result;
  }
}
