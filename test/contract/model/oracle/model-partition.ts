import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import type { FinishedOutcome } from '../../../../lib/errors/publishing.errors.js';
import { MAX_HISTORY } from '../../../../lib/messages/failure.js';
import type { FailureRecord } from '../../../../lib/messages/failure-record.js';
import type { Clock } from '../../../../lib/time/clock.js';
import type { ClaimedMessage } from '../../../../lib/store/deliveries/claim.js';
import { NO_TOKEN } from '../../../../lib/store/deliveries/receipt.js';
import type { SettleStatus } from '../../../../lib/messages/settle-status.js';
import type { Outcome } from '../../../../lib/store/deliveries/settle.js';
import type { Owner } from '../../../../lib/store/fleet/owner.js';
import { COUNTERS, type PartitionCounters } from '../../../../lib/store/messages/partition-counts.js';
import type { DueTime } from '../../../../lib/store/messages/publish.js';
import type { StoredMessage } from '../../../../lib/store/messages/stored-message.js';
import type { CallId } from '../../../../lib/store/partition.js';
import { FinishedMessages } from './finished-messages.js';
import { Lines } from './lines.js';
import { SortedSet, compareBytes } from './sorted-set.js';

type MutableCounters = { -readonly [K in keyof PartitionCounters]: PartitionCounters[K] };

/** What is kept of a message beside its envelope: how it was delivered, if it was. */
export interface DeliveryRecord {
  /** {@link NO_TOKEN} while the message is not in flight. */
  token: string;
  delivery: number;
  attempt: number;
  due: number;
  /** Deliveries in a row that ended with their lease, the current one not included. */
  crashes: number;
  /** What happened to the message while it was in flight. */
  mark?: { kind: 'cancelled' } | { kind: 'replaced'; due: number; firstPublishedAt: number | undefined };
  /** Of a message with a longest wait that was not delivered yet. */
  firstPublishedAt?: number | undefined;
}

export interface LatestClaim {
  readonly epoch: string;
  readonly sequence: number;
  readonly delivered: number;
  /** What it has handed out at most once, and until when that is answered again; epoch milliseconds. */
  readonly once: readonly ClaimedMessage[];
  readonly onceUntil: number;
  /** What rates of keys have granted: under what time, and when it may begin; epoch milliseconds. */
  readonly granted?: { readonly at: number; readonly beginsAt: number } | undefined;
  /** How the deliveries have ended that it took along. */
  readonly ended?: readonly SettleStatus[] | undefined;
}

/** The handler call that has ended a message, as far as it is known. */
export interface LastRun {
  readonly duration?: number | undefined;
  readonly process?: string | undefined;
}

/**
 * The state of one partition: what Redis keeps of it, under the names of its keys. The operations are functions in the files beside
 * this one.
 */
export class ModelPartition {
  readonly scheduled = new SortedSet();
  readonly inflight = new SortedSet();
  readonly dead = new SortedSet();
  readonly messages = new Map<string, string>();
  readonly deliveries = new Map<string, DeliveryRecord>();
  readonly errors = new Map<string, FailureRecord>();
  readonly tags = new Map<string, readonly string[]>();
  readonly finished = new FinishedMessages();
  readonly lines: Lines = new Lines({
    scheduled: this.scheduled,
    now: () => this.now,
    deliveriesOf: (storedId) => this.deliveries.get(storedId)?.delivery ?? 0,
    dueOf: (storedId) => this.deliveries.get(storedId)?.due,
    leads: (storedId) => this.#leads(storedId),
  });
  readonly counters = Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as MutableCounters;
  paused = false;
  /** Nothing is handed out before; epoch milliseconds. */
  heldUntil = 0;
  owner: Owner | undefined;
  /** The latest claim; of another epoch than the owner's if this one has not claimed yet. */
  latestClaim: LatestClaim = { epoch: '', sequence: 0, delivered: 0, once: [], onceUntil: 0 };
  readonly #clock: Clock;
  readonly #answered = new Map<string, { readonly sequence: number; readonly answer: unknown }>();

  constructor(clock: Clock) {
    this.#clock = clock;
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

  set(state: StoredMessage['state']): SortedSet {
    const { scheduled, inflight, dead, finished } = this;
    return { scheduled, 'in-flight': inflight, dead, finished: finished.set }[state];
  }

  dueTime(due: DueTime): number {
    return 'after' in due ? this.nowUp + due.after : due.at;
  }

  /** When a message that waits is due, whether or not others of its key come first. */
  dueOf(storedId: string): number | undefined {
    return this.scheduled.score(storedId) ?? this.lines.blocked.score(storedId);
  }

  /** Gives a message another place, as if it had just come. It is in no set, or waits. */
  placeAnew(storedId: string, due: number): void {
    this.scheduled.delete(storedId);
    this.lines.leave(storedId);
    this.lines.lineUp(storedId, due);
  }

  /** Schedules a message again that was in flight; in an order it keeps its place. */
  schedule(storedId: string, record: Pick<DeliveryRecord, 'delivery'>, due: number, attempt: number): void {
    this.noteWaiting(storedId, record, due, attempt);
    if (this.lines.mode === 'limits') this.lines.leave(storedId);
    this.scheduled.set(storedId, due);
  }

  /** A message is in flight no more, or new: it waits. */
  noteWaiting(
    storedId: string,
    { delivery, firstPublishedAt }: Pick<DeliveryRecord, 'delivery' | 'firstPublishedAt'>,
    due: number,
    attempt: number,
  ): void {
    this.inflight.delete(storedId);
    this.deliveries.set(storedId, { token: NO_TOKEN, delivery, attempt, due, crashes: 0, firstPublishedAt });
  }

  /** The stored ids of the messages that carry a tag, in order, behind this one. */
  tagged(tag: string, after: string | undefined): string[] {
    const all = Array.from(this.tags, ([storedId, tags]) => (tags.includes(tag) ? [storedId] : [])).flat();
    return all.filter((storedId) => after === undefined || compareBytes(storedId, after) > 0).toSorted(compareBytes);
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
    this.lines.leave(storedId);
    this.messages.delete(storedId);
    this.deliveries.delete(storedId);
    this.errors.delete(storedId);
    this.tags.delete(storedId);
  }

  /** Removes a message that has ended, and keeps what became of it if that is asked for. */
  finish(storedId: string, set: SortedSet, outcome: FinishedOutcome, { duration, process }: LastRun = {}): void {
    const { delivery = 0, attempt = 0, due = this.dueOf(storedId) } = this.deliveries.get(storedId) ?? {};
    const { failure, history } = this.errors.get(storedId) ?? { failure: undefined, history: [] };
    const envelope = this.messages.get(storedId) as string;
    const ending = { outcome, dueAt: due, duration, process };
    this.remove(storedId, set);
    const ended = { envelope, deliveries: delivery, attempts: attempt, failure, history, ending };
    this.finished.add(storedId, this.now, ended);
  }

  /** Answers the repeat of a caller's latest call as the first one was answered. */
  once<T>({ caller, sequence }: CallId, run: () => T): T {
    const answered = this.#answered.get(caller);
    if (answered?.sequence === sequence) return answered.answer as T;
    if (answered && answered.sequence > sequence) {
      throw new BrokerUnavailableError('OUTDATED: a later call of the same caller was served');
    }
    const answer = run();
    this.#answered.set(caller, { sequence, answer });
    return answer;
  }

  /** Whether a message keeps others of its key waiting. */
  #leads(storedId: string): boolean {
    const sets = [this.scheduled, this.inflight, ...(this.lines.mode === 'block' ? [this.dead] : [])];
    return sets.some((set) => set.score(storedId) !== undefined);
  }
}
