export interface StreamEntry {
  /** Its first number, which times and offsets are. */
  readonly first: number;
  readonly second: number;
  readonly fields: readonly string[];
}

/** What is trimmed at once: Redis drops whole nodes of its tree, and this many entries are one. */
const NODE = 100;

/** What a STREAM of Redis is, as far as the scripts use it. */
export class Stream {
  readonly #entries: StreamEntry[] = [];

  /** In the order of their ids. */
  get entries(): readonly StreamEntry[] {
    return this.#entries;
  }

  get size(): number {
    return this.#entries.length;
  }

  copy(): Stream {
    const copy = new Stream();
    for (const entry of this.#entries) copy.append(entry);
    return copy;
  }

  append(entry: StreamEntry): void {
    this.#entries.push(entry);
  }

  /** Drops the oldest entries, whole nodes of them. */
  trim(excess: number): void {
    if (excess >= NODE) this.#entries.splice(0, Math.floor(excess / NODE) * NODE);
  }
}
