export interface Entry {
  readonly member: string;
  readonly score: number;
}

/** Members in order of their score, equal scores in order of the member's bytes: what a Redis ZSET is. */
export class SortedSet {
  readonly #scores = new Map<string, number>();
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  score(member: string): number | undefined {
    return this.#scores.get(member);
  }

  set(member: string, score: number): void {
    this.delete(member);
    this.#scores.set(member, score);
    this.#entries.splice(this.#position(member, score), 0, { member, score });
  }

  delete(member: string): boolean {
    const score = this.#scores.get(member);
    if (score === undefined) return false;
    this.#scores.delete(member);
    this.#entries.splice(this.#position(member, score), 1);
    return true;
  }

  /** The first members whose score is at most `max`. */
  upTo(max: number, limit = Infinity): Entry[] {
    const entries: Entry[] = [];
    for (const entry of this.#entries) {
      if (entry.score > max || entries.length >= limit) break;
      entries.push(entry);
    }
    return entries;
  }

  /** Those that come behind this entry, which may be gone; all of them if none is given. */
  behind(entry: Entry | undefined): Entry[] {
    if (!entry) return [...this.#entries];
    const position = this.#position(entry.member, entry.score);
    const isThere = this.#entries[position]?.member === entry.member;
    return this.#entries.slice(isThere ? position + 1 : position);
  }

  [Symbol.iterator](): IterableIterator<Entry> {
    return this.#entries[Symbol.iterator]();
  }

  /** Where the entry is, or belongs. */
  #position(member: string, score: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.#entries[middle] as Entry;
      if (entry.score < score || (entry.score === score && compareBytes(entry.member, member) < 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** UTF-8 bytes come in order of code points, which the order of UTF-16 units is not beyond U+FFFF. */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
