import type { RetentionLimits } from '../../../../lib/store/dead-letters/retention.js';
import type { StoredMessage } from '../../../../lib/store/messages/stored-message.js';
import { type Entry, SortedSet } from './sorted-set.js';

/** What is kept of a message that has ended. */
export type EndedMessage = Required<Omit<StoredMessage, 'storedId' | 'state' | 'at' | 'dueAt' | 'blockedBy'>>;

/** Keeps what became of messages that have ended: see `lua/modules/finished.lua`. */
export class FinishedMessages {
  /** What the latest owner wants kept; `undefined`: nothing is kept, and nothing is left of an earlier owner's. */
  limits: RetentionLimits | undefined;
  /** When each of them ended. */
  readonly set = new SortedSet();
  readonly #endings = new Map<string, EndedMessage>();

  get keeps(): boolean {
    return this.limits !== undefined && this.limits.maxCount !== 0;
  }

  /** Whether anything may be left, also if nothing more is kept: it stays for as long as it was promised. */
  get hasKept(): boolean {
    return this.keeps || this.limits?.maxAge !== undefined;
  }

  /** What the owner who claims wants. */
  want(limits: RetentionLimits | undefined): void {
    this.limits = limits ?? (this.limits && { ...this.limits, maxCount: 0 });
  }

  add(storedId: string, now: number, message: EndedMessage): void {
    if (!this.keeps) return;
    this.#endings.set(storedId, message);
    this.set.set(storedId, now);
    // As many as came, and as many again, so that a lower limit is reached.
    this.#drop(this.#excess(2));
  }

  /** What became of a message; `undefined` if it is not kept, or was for long enough. */
  find(storedId: string, now: number): EndedMessage | undefined {
    const at = this.set.score(storedId);
    const { maxAge = Infinity } = this.limits ?? {};
    return this.hasKept && at !== undefined && at + maxAge > now ? this.#endings.get(storedId) : undefined;
  }

  /** The same, however old it is. */
  listed(storedId: string): EndedMessage {
    return this.#endings.get(storedId) as EndedMessage;
  }

  forget(storedId: string): void {
    this.#drop([{ member: storedId }]);
  }

  clear(): void {
    this.#drop([...this.set]);
  }

  /** Removes what is over the limits; answers when to come again. */
  trim(now: number): number | undefined {
    if (!this.limits) return undefined;
    const { maxAge = Infinity } = this.limits;
    this.#drop(this.set.upTo(now - maxAge));
    this.#drop(this.#excess());
    if (!this.keeps && this.set.size === 0) this.limits = undefined;
    const oldest = this.set.first;
    return oldest && maxAge !== Infinity ? oldest.score + maxAge : undefined;
  }

  #excess(most = Infinity): Entry[] {
    const { maxAge, maxCount = Infinity } = this.limits ?? {};
    if (maxCount === 0 && maxAge !== undefined) return [];
    return this.set.upTo(Infinity, Math.min(most, Math.max(0, this.set.size - maxCount)));
  }

  #drop(entries: readonly Pick<Entry, 'member'>[]): void {
    for (const { member } of entries) {
      this.set.delete(member);
      this.#endings.delete(member);
    }
  }
}
