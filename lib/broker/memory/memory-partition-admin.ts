import type { ClearResult, EditResult, EnvelopeEdit, PeekRequest, PeekedMessages } from '../admin-store.interface.js';
import type {
  CallId,
  DueTime,
  PartitionCounters,
  PartitionSignal,
  PartitionStats,
  RescheduleResult,
  StoredMessage,
} from '../broker.interface.js';
import type { SortedSet } from './sorted-set.js';

export type MutableCounters = { -readonly [K in keyof PartitionCounters]: PartitionCounters[K] };

/** In one call. */
const MOST_CLEARED = 100;

/** What a partition in memory lets operators look at and change. */
export interface PartitionAccess {
  readonly now: () => number;
  readonly signal: (signal: PartitionSignal) => void;
  readonly sets: Readonly<Record<StoredMessage['state'], SortedSet>>;
  readonly counters: MutableCounters;
  readonly messages: Map<string, string>;
  readonly get: (storedId: string) => StoredMessage | undefined;
  readonly forget: (storedId: string) => void;
  readonly reschedule: (call: CallId, storedId: string, due: DueTime) => RescheduleResult;
  readonly once: <T>(call: CallId, run: () => T) => T;
}

/** What operators see of one partition in memory, and do to it. */
export class MemoryPartitionAdmin {
  readonly #access: PartitionAccess;
  #paused = false;

  constructor(access: PartitionAccess) {
    this.#access = access;
  }

  get paused(): boolean {
    return this.#paused;
  }

  peek({ state, after, limit, maxBytes }: PeekRequest): PeekedMessages {
    const { now, sets, get } = this.#access;
    const until = state === 'due' ? Math.floor(now()) : Infinity;
    const set = sets[state === 'due' ? 'scheduled' : state];
    const left = set.behind(after && { member: after.storedId, score: after.at }).filter(({ score }) => score <= until);
    const messages: StoredMessage[] = [];
    let bytes = 0;
    for (const { member } of left.slice(0, limit)) {
      if (bytes >= maxBytes) break;
      const stored = get(member) as StoredMessage;
      messages.push(stored);
      bytes += sizeOf(stored);
    }
    const last = messages.at(-1);
    const more = last && left.length > messages.length;
    return { messages, next: more ? { at: last.at, storedId: last.storedId } : undefined };
  }

  runNow(call: CallId, storedId: string): RescheduleResult {
    const { now, sets, reschedule } = this.#access;
    const due = sets.scheduled.score(storedId) ?? Infinity;
    return reschedule(call, storedId, { at: Math.min(due, Math.ceil(now())) });
  }

  edit(call: CallId, { storedId, expected, envelope }: EnvelopeEdit): EditResult {
    const { sets, messages, once } = this.#access;
    return once(call, () => {
      if (sets.scheduled.score(storedId) === undefined) return 'not-waiting';
      if (messages.get(storedId) !== expected) return 'changed';
      messages.set(storedId, envelope);
      return 'edited';
    });
  }

  clear(call: CallId, state: 'scheduled' | 'dead'): ClearResult {
    const { sets, forget, counters, once } = this.#access;
    return once(call, () => {
      const first = sets[state].upTo(Infinity, MOST_CLEARED);
      for (const { member } of first) {
        sets[state].delete(member);
        forget(member);
      }
      if (state === 'scheduled') counters.cancelled += first.length;
      return { removed: first.length, more: first.length === MOST_CLEARED };
    });
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#access.signal({ kind: 'due', at: Math.floor(this.#access.now()) });
  }

  stats(owner: string | undefined): PartitionStats {
    const { now, sets, counters } = this.#access;
    return {
      scheduled: sets.scheduled.size,
      due: sets.scheduled.upTo(Math.floor(now())).length,
      inFlight: sets['in-flight'].size,
      dead: sets.dead.size,
      nextDueAt: sets.scheduled.first?.score,
      owner,
      paused: this.#paused,
      counters: { ...counters },
    };
  }

  /** The state of a message, and its score there. */
  place(storedId: string): Pick<StoredMessage, 'state' | 'at'> {
    const { scheduled, 'in-flight': inflight, dead } = this.#access.sets;
    const due = scheduled.score(storedId);
    if (due !== undefined) return { state: 'scheduled', at: due };
    const deadline = inflight.score(storedId);
    if (deadline !== undefined) return { state: 'in-flight', at: deadline };
    return { state: 'dead', at: dead.score(storedId) as number };
  }

  /** What is in this state, in order of {@link StoredMessage.at}. */
  list(state: StoredMessage['state']): StoredMessage[] {
    const { sets, get } = this.#access;
    return [...sets[state]].map(({ member }) => get(member) as StoredMessage);
  }
}

function sizeOf({ envelope, failure, history }: StoredMessage): number {
  return Buffer.byteLength(envelope) + (failure ? Buffer.byteLength(JSON.stringify({ ...failure, history })) : 0);
}
