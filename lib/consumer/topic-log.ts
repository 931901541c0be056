import type { Log } from '../common/log.js';

/** Logs what changes in one topic as this process sees it: a line a change, however many partitions show it. */
export class TopicLog {
  readonly #log: Log;
  readonly #topic: string;
  readonly #partitions: number;
  /** As it was logged last. */
  #owned = '';
  #paused = new Set<number>();

  /** @param partitions how many the topic has */
  constructor(log: Log, topic: string, partitions: number) {
    this.#log = log;
    this.#topic = topic;
    this.#partitions = partitions;
  }

  /** To be told after each comparison of what this process holds with its share; `indexes` grow. */
  owns(indexes: readonly number[]): void {
    // Of a partition that is gone this process hears no more; whether it goes on is for its new owner to tell.
    this.#paused = new Set(indexes.filter((index) => this.#paused.has(index)));
    const owned = rangesOf(indexes);
    if (owned === this.#owned) return;
    this.#owned = owned;
    const list = owned === '' ? '' : `: ${owned}`;
    this.#log.log(`Owns ${indexes.length} of ${this.#partitions} partitions of topic '${this.#topic}'${list}`);
  }

  /** To be told what the first claim of a partition saw, and each change. */
  sawPaused(index: number, paused: boolean): void {
    const before = this.#paused.size;
    if (paused) this.#paused.add(index);
    else this.#paused.delete(index);
    const after = this.#paused.size;
    if (before === 0 && after > 0) this.#log.log(`Topic '${this.#topic}' is paused`);
    if (before > 0 && after === 0) this.#log.log(`Topic '${this.#topic}' goes on`);
  }
}

/** Such as `0-3, 6` for 0, 1, 2, 3 and 6. */
function rangesOf(indexes: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const index of indexes) {
    const range = ranges.at(-1);
    if (range?.[1] === index - 1) range[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}
