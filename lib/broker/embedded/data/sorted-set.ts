export interface Entry {
  readonly member: string;
  readonly score: number;
}

/** What a ZSET of Redis is: members in order of their scores, and of their bytes where those are equal. */
export class SortedSet {
  readonly #scores = new Map<string, number>();
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** In their order; not to be changed. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  scoreOf(member: string): number | undefined {
    return this.#scores.get(member);
  }

  /** From 0 on; `undefined` if it is no member. */
  rankOf(member: string): number | undefined {
    const score = this.#scores.get(member);
    return score === undefined ? undefined : this.#place(score, member);
  }

  /** Answers whether it is a new member. */
  set(member: string, score: number): boolean {
    const before = this.#scores.get(member);
    if (before === score) return false;
    if (before !== undefined) this.#entries.splice(this.#place(before, member), 1);
    this.#entries.splice(this.#place(score, member), 0, { member, score });
    this.#scores.set(member, score);
    return before === undefined;
  }

  /** Answers whether it was a member. */
  delete(member: string): boolean {
    const score = this.#scores.get(member);
    if (score === undefined) return false;
    this.#entries.splice(this.#place(score, member), 1);
    return this.#scores.delete(member);
  }

  /** How many entries come before the first one that `isBehind` holds for; those behind that one have to fit too. */
  countUntil(isBehind: (entry: Entry) => boolean): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBehind(this.#entries[middle] as Entry)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Where the entry is, or belongs. A string has one character a byte, so their order is that of the bytes. */
  #place(score: number, member: string): number {
    return this.countUntil((entry) => entry.score > score || (entry.score === score && entry.member >= member));
  }
}
