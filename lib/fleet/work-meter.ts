import { MINUTE, MINUTES_KEPT, type TopicWork } from '../store/records/process-records.js';
import { Lateness } from './lateness.js';

/** How deliveries end that are counted. */
type CountedEnd = 'acked' | 'retried' | 'dead';

/** What this process does for a topic in one minute. */
export class MinuteOfWork {
  readonly topic: string;
  /** Since the epoch. */
  readonly minute: number;
  /** Whether it was not told as it is. */
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
  /** Those before, as far as they were not told; and the one just before, since the telling may fail. */
  #before: MinuteOfWork[] = [];

  constructor(topic: string) {
    this.#topic = topic;
    this.#current = new MinuteOfWork(topic, 0);
  }

  /**
   * Messages are handed over together.
   *
   * @param now epoch milliseconds on the broker's clock
   */
  handed(now: number, messages: readonly { readonly delivery: { readonly dueAt: number } }[]): void {
    const minute = this.#minuteOf(now);
    for (const { delivery } of messages) minute.delivered(now - delivery.dueAt);
  }

  /** @param now epoch milliseconds on the broker's clock */
  ended(now: number, how: CountedEnd): void {
    this.#minuteOf(now).ended(how);
  }

  /** The minutes that were not told as they are. */
  get untold(): MinuteOfWork[] {
    return [...this.#before, this.#current].filter(({ untold }) => untold);
  }

  /** A clock that goes back stays in its minute. */
  #minuteOf(now: number): MinuteOfWork {
    const minute = Math.floor(now / MINUTE);
    if (minute > this.#current.minute) {
      this.#before = [...this.#before.filter(({ untold }) => untold), this.#current].slice(-MINUTES_KEPT);
      this.#current = new MinuteOfWork(this.#topic, minute);
    }
    return this.#current;
  }
}
