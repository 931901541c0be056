import { MINUTE, MINUTES_KEPT, type TopicWork } from '../store/records/process-records.js';

/** Bound of the smallest bucket of lateness, in milliseconds, and the number of buckets for each doubling. */
const SMALLEST = 0.25;
const PER_DOUBLING = 4;

/** Number of buckets, up to 10 years; greater latenesses count as that. */
const BUCKETS = 165;

/** Counts of lateness: a bucket and its count, alternating. A bucket ends 19 % above where it begins. */
type LatenessCounts = readonly number[];

/** Counts how late messages are handed over, in little room and so that the counts of several processes can be added. */
export class Lateness {
  readonly #counts = new Uint32Array(BUCKETS);
  #max = 0;

  /** Greatest lateness counted, in milliseconds. */
  get max(): number {
    return this.#max;
  }

  /** @param lateness milliseconds; the estimate of Redis's clock may make it slightly negative */
  add(lateness: number): void {
    const bucket = bucketOf(lateness);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    if (lateness > this.#max) this.#max = lateness;
  }

  /** Adds the counts of another process. */
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
   * Returns the lateness that a share of the messages did not exceed, in milliseconds, up to 19 % too high; `undefined` if none was counted.
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

/** Ends of deliveries that are counted. */
type CountedEnd = 'acked' | 'retried' | 'dead';

/** Work of this process for a topic in one minute. */
export class MinuteOfWork {
  readonly topic: string;
  /** Since the epoch. */
  readonly minute: number;
  /** Whether it has not been reported as it is now. */
  untold = false;
  readonly #lateness = new Lateness();
  readonly #ended: Record<CountedEnd, number> = { acked: 0, retried: 0, dead: 0 };
  #delivered = 0;

  constructor(topic: string, minute: number) {
    this.topic = topic;
    this.minute = minute;
  }

  delivered(lateness: number): void {
    this.#delivered++;
    this.#lateness.add(lateness);
    this.untold = true;
  }

  ended(how: CountedEnd): void {
    this.#ended[how]++;
    this.untold = true;
  }

  /** As it is now. */
  get work(): TopicWork {
    const { max: maxLateness, counts: lateness } = this.#lateness;
    return { topic: this.topic, delivered: this.#delivered, ...this.#ended, maxLateness, lateness };
  }
}

/** Counts what this process does for one topic, minute by minute. It is called for each message, so it costs next to nothing. */
export class WorkMeter {
  readonly #topic: string;
  #current: MinuteOfWork;
  /** Earlier minutes that were not reported; and the one just before, since its report may fail. */
  #before: MinuteOfWork[] = [];

  constructor(topic: string) {
    this.#topic = topic;
    this.#current = new MinuteOfWork(topic, 0);
  }

  /**
   * Counts messages that are handed over together.
   *
   * @param now epoch milliseconds on the broker's clock
   */
  handed(now: number, messages: readonly { readonly dueAt: number }[]): void {
    const minute = this.#minuteOf(now);
    for (const { dueAt } of messages) minute.delivered(now - dueAt);
  }

  /** @param now epoch milliseconds on the broker's clock */
  ended(now: number, how: CountedEnd): void {
    this.#minuteOf(now).ended(how);
  }

  /** Minutes that have not been reported as they are now. */
  get untold(): MinuteOfWork[] {
    return [...this.#before, this.#current].filter(({ untold }) => untold);
  }

  /** Returns the minute of work at a time; a clock that goes back stays in its minute. */
  #minuteOf(now: number): MinuteOfWork {
    const minute = Math.floor(now / MINUTE);
    if (minute > this.#current.minute) {
      this.#before = [...this.#before.filter(({ untold }) => untold), this.#current].slice(-MINUTES_KEPT);
      this.#current = new MinuteOfWork(this.#topic, minute);
    }
    return this.#current;
  }
}
