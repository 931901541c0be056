/** Counts latenesses up to this each, in milliseconds, by four buckets for each doubling. */
const SMALLEST = 0.25;
const PER_DOUBLING = 4;

/** Up to 10 years; what is later counts as that. */
const BUCKETS = 165;

/** How late messages were, as far as it is kept: how often which bucket, by turns. A bucket ends 19 % above where it begins. */
export type LatenessCounts = readonly number[];

/** Counts how late messages are handed over, in little room and so that the counts of several processes can be added. */
export class Lateness {
  readonly #counts = new Uint32Array(BUCKETS);
  #max = 0;

  /** The greatest that was counted, in milliseconds. */
  get max(): number {
    return this.#max;
  }

  /** @param lateness milliseconds; the estimate of Redis's clock may make it slightly negative */
  add(lateness: number): void {
    const bucket = bucketOf(lateness);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    if (lateness > this.#max) this.#max = lateness;
  }

  /** Adds what another process has counted. */
  merge(counts: LatenessCounts, max: number): void {
    for (let i = 0; i + 1 < counts.length; i += 2) {
      const bucket = Math.min(counts[i] as number, BUCKETS - 1);
      this.#counts[bucket] = (this.#counts[bucket] as number) + (counts[i + 1] as number);
    }
    this.#max = Math.max(this.#max, max);
  }

  get counts(): LatenessCounts {
    const counts: number[] = [];
    for (const [bucket, count] of this.#counts.entries()) if (count > 0) counts.push(bucket, count);
    return counts;
  }

  /**
   * The lateness that a share of the messages did not exceed, in milliseconds, up to 19 % too high; `undefined` if none was counted.
   *
   * @param share such as 0.99
   */
  quantile(share: number): number | undefined {
    const total = this.#counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) return undefined;
    let left = Math.ceil(total * share);
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return Math.min(SMALLEST * 2 ** (bucket / PER_DOUBLING), this.#max);
    }
    return this.#max;
  }
}

function bucketOf(lateness: number): number {
  if (lateness <= SMALLEST) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(lateness / SMALLEST) * PER_DOUBLING));
}
