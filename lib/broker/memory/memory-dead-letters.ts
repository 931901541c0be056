import type { Failure } from '../../messages/failure.js';
import type { CallId } from '../broker.interface.js';
import type { DeadLetterPage, DeadLetterQuery, Death, Requeue } from '../dead-letter-store.interface.js';
import { SortedSet } from './sorted-set.js';

/** What the dead letters need of the partition that they are in. */
export interface MemoryDeadLettersOptions {
  /** Epoch milliseconds with fractions. */
  readonly now: () => number;
  readonly failureOf: (storedId: string) => Failure | undefined;
  /** Carries a call out once, however often it comes, and signals what is due earlier by it. */
  readonly once: <T>(call: CallId, change: () => T) => T;
  readonly schedule: (storedId: string, due: number, envelope: string | undefined) => void;
  readonly forget: (storedId: string) => void;
}

/** The dead letters of a partition in memory: what the scripts `list-dead`, `requeue-dead` and its like do. */
export class MemoryDeadLetters {
  readonly set = new SortedSet();
  readonly #options: MemoryDeadLettersOptions;

  constructor(options: MemoryDeadLettersOptions) {
    this.#options = options;
  }

  list({ after, since = -Infinity, until, limit, withFailures }: DeadLetterQuery): DeadLetterPage {
    const now = Math.floor(this.#options.now());
    const letters = this.set
      .behind(after && { member: after.storedId, score: after.diedAt })
      .filter(({ score }) => score >= since && score < (until ?? now + 1))
      .slice(0, limit)
      .map(({ member, score }) => ({
        storedId: member,
        diedAt: score,
        failure: withFailures ? this.#options.failureOf(member) : undefined,
      }));
    return { letters, next: letters.length === limit ? letters.at(-1) : undefined, now };
  }

  requeue(call: CallId, deaths: readonly Requeue[], delay: number): boolean[] {
    const { now, once, schedule } = this.#options;
    return once(call, () => {
      const due = Math.ceil(now()) + delay;
      return deaths.map((death) => {
        if (!this.#take(death)) return false;
        schedule(death.storedId, due, death.envelope);
        return true;
      });
    });
  }

  remove(call: CallId, deaths: readonly Death[]): boolean[] {
    const { once, forget } = this.#options;
    return once(call, () =>
      deaths.map((death) => {
        if (!this.#take(death)) return false;
        forget(death.storedId);
        return true;
      }),
    );
  }

  trim(maxAge = Infinity, maxCount = Infinity): number | undefined {
    const old = this.set.upTo(Math.floor(this.#options.now()) - maxAge);
    const excess = this.set.upTo(Infinity, Math.max(0, this.set.size - maxCount));
    for (const { member } of old.length > excess.length ? old : excess) {
      this.set.delete(member);
      this.#options.forget(member);
    }
    const oldest = this.set.first;
    return oldest && maxAge !== Infinity ? oldest.score + maxAge : undefined;
  }

  #take({ storedId, diedAt }: Death): boolean {
    return this.set.score(storedId) === diedAt && this.set.delete(storedId);
  }
}
