import type { PeekRequest, PeekedMessages } from '../admin-store.interface.js';
import type { PartitionCounters, PartitionSignal, PartitionStats, StoredMessage } from '../broker.interface.js';
import { encodeFailure } from '../../message/failure.js';
import type { SortedSet } from './sorted-set.js';

export type MutableCounters = { -readonly [K in keyof PartitionCounters]: PartitionCounters[K] };

/** What a partition in memory lets operators look at and change. */
export interface PartitionAccess {
  readonly now: () => number;
  readonly signal: (signal: PartitionSignal) => void;
  readonly sets: Readonly<Record<StoredMessage['state'], SortedSet>>;
  readonly counters: MutableCounters;
  readonly get: (storedId: string) => StoredMessage | undefined;
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

  /** What is in this state, in order of {@link StoredMessage.at}. */
  list(state: StoredMessage['state']): StoredMessage[] {
    const { sets, get } = this.#access;
    return [...sets[state]].map(({ member }) => get(member) as StoredMessage);
  }
}

function sizeOf({ envelope, failure }: StoredMessage): number {
  return Buffer.byteLength(envelope) + (failure ? Buffer.byteLength(encodeFailure(failure)) : 0);
}
