import type { Clock, Timer } from '../time/clock.js';
import type { Log } from '../log.js';

/** Up to so many topics have lines of their own at level `log`; of more there is a line for all of them. */
const FEW_TOPICS = 2;

/** For how long the changes of many topics are gathered, in milliseconds; so long it takes to rebalance them. */
const GATHERING = 2000;

interface Share {
  readonly owned: number;
  readonly partitions: number;
}

/** Logs what this process consumes, in a few lines however many topics there are; at level `debug` it has a line for each. */
export class ConsumptionLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #isShort: boolean;
  readonly #shares = new Map<string, Share>();
  #hasStarted = false;
  #timer: Timer | undefined;

  /** @param topics how many this process handles */
  constructor(log: Log, clock: Clock, topics: number) {
    this.#log = log;
    this.#clock = clock;
    this.#isShort = topics <= FEW_TOPICS;
  }

  handles(handler: string, topic: string): void {
    this.#tell(`${handler} handles topic '${topic}'`);
  }

  /** To be called once each topic has its first share. */
  started(): void {
    this.#hasStarted = true;
    if (this.#isShort) return;
    const { owned, partitions } = this.#sum();
    this.#log.log(`Consumes ${this.#shares.size} topics; owns ${owned} of ${partitions} partitions`);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** @param list numbers of the partitions that are owned, for people */
  owns(topic: string, share: Share, list: string): void {
    this.#shares.set(topic, share);
    const which = list === '' ? '' : `: ${list}`;
    this.#tell(`Owns ${share.owned} of ${share.partitions} partitions of topic '${topic}'${which}`);
    if (this.#isShort || !this.#hasStarted) return;
    this.#timer ??= this.#clock.setTimer(GATHERING, () => {
      this.#timer = undefined;
      const { owned, partitions } = this.#sum();
      this.#log.log(`Owns ${owned} of ${partitions} partitions of ${this.#shares.size} topics`);
    });
  }

  /** To be called before the first share of a topic is known. */
  knows(topic: string, partitions: number): void {
    this.#shares.set(topic, { owned: 0, partitions });
  }

  #tell(line: string): void {
    if (this.#isShort) this.#log.log(line);
    else this.#log.debug?.(line);
  }

  #sum(): Share {
    let owned = 0;
    let partitions = 0;
    for (const share of this.#shares.values()) {
      owned += share.owned;
      partitions += share.partitions;
    }
    return { owned, partitions };
  }
}

/** Logs what changes in one topic as this process sees it: a line a change, however many partitions show it. */
export class TopicLog {
  readonly #log: Log;
  readonly #consumption: ConsumptionLog;
  readonly #topic: string;
  readonly #partitions: number;
  /** As it was logged last. */
  #owned = '';
  #paused = new Set<number>();

  /** @param partitions how many the topic has */
  constructor(log: Log, consumption: ConsumptionLog, topic: string, partitions: number) {
    this.#log = log;
    this.#consumption = consumption;
    this.#topic = topic;
    this.#partitions = partitions;
    consumption.knows(topic, partitions);
  }

  /** To be told after each comparison of what this process holds with its share; `indexes` grow. */
  owns(indexes: readonly number[]): void {
    // Of a partition that is gone this process hears no more; whether it goes on is for its new owner to tell.
    this.#paused = new Set(indexes.filter((index) => this.#paused.has(index)));
    const owned = rangesOf(indexes);
    if (owned === this.#owned) return;
    this.#owned = owned;
    this.#consumption.owns(this.#topic, { owned: indexes.length, partitions: this.#partitions }, owned);
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
