export interface Entry {
  readonly member: string;
  readonly score: number;
}

/** Most entries of a block. A place is found among blocks and then in one, and only the entries of one are moved. */
const MOST = 512;

/** A ZSET of Redis: members in order of their scores, and of their bytes where those are equal. */
export class SortedSet {
  #scores = new Map<string, number>();
  /** All entries in their order, in blocks; only the one of an empty set is empty. */
  #blocks: Entry[][] = [[]];

  get size(): number {
    return this.#scores.size;
  }

  copy(): SortedSet {
    const copy = new SortedSet();
    copy.#scores = new Map(this.#scores);
    copy.#blocks = this.#blocks.map((block) => [...block]);
    return copy;
  }

  /** Returns entries in order, from one rank until before another. */
  slice(from: number, till: number): Entry[] {
    const found: Entry[] = [];
    let rank = 0;
    for (const block of this.#blocks) {
      if (rank >= till) break;
      const end = rank + block.length;
      if (end > from)
        for (let i = Math.max(0, from - rank); i < block.length && rank + i < till; i++) found.push(block[i] as Entry);
      rank = end;
    }
    return found;
  }

  scoreOf(member: string): number | undefined {
    return this.#scores.get(member);
  }

  /** Returns the rank, from 0 on; `undefined` if it is no member. */
  rankOf(member: string): number | undefined {
    const score = this.#scores.get(member);
    return score === undefined ? undefined : this.countUntil(isAt(score, member));
  }

  /** Sets a score, and returns whether the member is new. */
  set(member: string, score: number): boolean {
    const before = this.#scores.get(member);
    if (before === score) return false;
    if (before !== undefined) this.#remove(before, member);
    this.#insert({ member, score });
    this.#scores.set(member, score);
    return before === undefined;
  }

  /** Removes a member, and returns whether it was one. */
  delete(member: string): boolean {
    const score = this.#scores.get(member);
    if (score === undefined) return false;
    this.#remove(score, member);
    return this.#scores.delete(member);
  }

  /** Counts the entries before the first one that `isBehind` holds for; it has to hold for all behind that one too. */
  countUntil(isBehind: (entry: Entry) => boolean): number {
    const [at, place] = this.#find(isBehind);
    let count = place;
    for (let i = 0; i < at; i++) count += (this.#blocks[i] as Entry[]).length;
    return count;
  }

  /** Finds the block of that entry and its place there; behind the last one if there is none. */
  #find(isBehind: (entry: Entry) => boolean): [at: number, place: number] {
    const at = firstOf(this.#blocks.length - 1, (i) => isBehind((this.#blocks[i] as Entry[]).at(-1) as Entry));
    const block = this.#blocks[at] as Entry[];
    return [at, firstOf(block.length, (i) => isBehind(block[i] as Entry))];
  }

  #insert(entry: Entry): void {
    const [at, place] = this.#find(isAt(entry.score, entry.member));
    const block = this.#blocks[at] as Entry[];
    block.splice(place, 0, entry);
    if (block.length > MOST) this.#blocks.splice(at + 1, 0, block.splice(MOST / 2));
  }

  #remove(score: number, member: string): void {
    const [at, place] = this.#find(isAt(score, member));
    const block = this.#blocks[at] as Entry[];
    block.splice(place, 1);
    const next = this.#blocks[at + 1];
    // Else what is removed here and there would leave many blocks behind.
    if (next && block.length + next.length <= MOST / 2) this.#blocks.splice(at, 2, [...block, ...next]);
    else if (block.length === 0 && this.#blocks.length > 1) this.#blocks.splice(at, 1);
  }
}

/** A string has one character a byte, so their order is that of the bytes. */
function isAt(score: number, member: string): (entry: Entry) => boolean {
  return (entry) => entry.score > score || (entry.score === score && entry.member >= member);
}

/** Returns the first number from 0 on that `fits`, as all behind it do; `count` if none below does. */
function firstOf(count: number, fits: (i: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (fits(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
