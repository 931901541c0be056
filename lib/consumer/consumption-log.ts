import type { Log } from '../log.js';
import type { Clock, Timer } from '../time/clock.js';

/** Most topics that get lines of their own at levels `log` and `warn`; more of them share one line. */
const FEW_TOPICS = 2;

/** Time for which news of many topics is gathered, in milliseconds; rebalancing them takes about as long. */
const GATHERING = 2000;

interface Share {
  readonly owned: number;
  readonly partitions: number;
}

/** A piece of news that can concern many topics at once; `detail` is that of the latest topic. */
interface News {
  readonly level: 'log' | 'warn';
  readonly ofOne: (topic: string, detail: string) => string;
  readonly ofMany: (topics: number, detail: string) => string;
}

const PAUSED: News = {
  level: 'log',
  ofOne: (topic) => `Topic '${topic}' is paused`,
  ofMany: (topics) => `${topics} topics are paused`,
};

const RESUMED: News = {
  level: 'log',
  ofOne: (topic) => `Topic '${topic}' goes on`,
  ofMany: (topics) => `${topics} topics go on`,
};

const FAILING: News = {
  level: 'warn',
  ofOne: (topic, detail) => `Partitions of topic '${topic}' cannot be taken or given up: ${detail}`,
  ofMany: (topics, detail) => `Partitions of ${topics} topics cannot be taken or given up: ${detail}`,
};

const STARVATION =
  'what the limits permit is over before this process can call the handler, since its event loop is busy or Redis answers late';

const FULL: News = {
  level: 'warn',
  ofOne: (topic) => `Redis is full: outcomes in topic '${topic}' wait until there is room; acknowledgements go on`,
  ofMany: (topics) => `Redis is full: outcomes in ${topics} topics wait until there is room; acknowledgements go on`,
};

const ROOM_AGAIN: News = {
  level: 'log',
  ofOne: (topic) => `Redis has room again: the outcomes in topic '${topic}' that have waited are stored`,
  ofMany: (topics) => `Redis has room again: the outcomes in ${topics} topics that have waited are stored`,
};

const STARVING: News = {
  level: 'warn',
  ofOne: (topic) => `Topic '${topic}' starves: ${STARVATION}`,
  ofMany: (topics) => `${topics} topics starve: ${STARVATION}`,
};

/** Logs what this process consumes, in a few lines however many topics there are; at level `debug` it has a line for each. */
export class ConsumptionLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #isShort: boolean;
  readonly #shares = new Map<string, Share>();
  /** Topics per piece of news that is not logged yet, with its latest detail. */
  readonly #gathered = new Map<News, { readonly topics: Set<string>; detail: string }>();
  #hasStarted = false;
  #haveSharesChanged = false;
  #stopped = false;
  #timer: Timer | undefined;

  /** @param topics number of topics that this process handles */
  constructor(log: Log, clock: Clock, topics: number) {
    this.#log = log;
    this.#clock = clock;
    this.#isShort = topics <= FEW_TOPICS;
  }

  handles(handler: string, topic: string): void {
    this.#detail(`${handler} handles topic '${topic}'`);
  }

  /** Call this before the first share of a topic is known. */
  knows(topic: string, partitions: number): void {
    this.#shares.set(topic, { owned: 0, partitions });
  }

  /** Call this once each topic has its first share. */
  started(): void {
    this.#hasStarted = true;
    if (this.#isShort) return;
    const { owned, partitions } = this.#sum();
    this.#log.log(`Consumes ${this.#shares.size} topics; owns ${owned} of ${partitions} partitions`);
  }

  stop(): void {
    this.#stopped = true;
    this.#haveSharesChanged = false;
    this.#tellGathered();
  }

  /** @param indexes of the partitions that this process owns */
  owns(topic: string, indexes: readonly number[]): void {
    const partitions = this.#shares.get(topic)?.partitions ?? 0;
    this.#shares.set(topic, { owned: indexes.length, partitions });
    const which = indexes.length === 0 ? '' : `: ${rangesOf(indexes)}`;
    this.#detail(`Owns ${indexes.length} of ${partitions} partitions of topic '${topic}'${which}`);
    if (this.#isShort || !this.#hasStarted || this.#stopped) return;
    this.#haveSharesChanged = true;
    this.#tellSoon();
  }

  paused(topic: string): void {
    this.#tell(PAUSED, topic);
  }

  resumed(topic: string): void {
    this.#tell(RESUMED, topic);
  }

  full(topic: string): void {
    this.#tell(FULL, topic);
  }

  starves(topic: string): void {
    this.#tell(STARVING, topic);
  }

  hasRoomAgain(topic: string): void {
    this.#tell(ROOM_AGAIN, topic);
  }

  repaired(topic: string, index: number, entries: number): void {
    this.#log.warn(
      `Repaired ${entries} entries of topic '${topic}', partition ${index}, that were damaged or had no message`,
    );
  }

  /** @param detail the cause */
  failing(topic: string, detail: string): void {
    this.#tell(FAILING, topic, detail);
  }

  #tell(news: News, topic: string, detail = ''): void {
    const { level, ofOne } = news;
    if (this.#isShort || this.#stopped) return this.#log[level](ofOne(topic, detail));
    this.#log.debug?.(ofOne(topic, detail));
    const gathered = this.#gathered.get(news) ?? { topics: new Set(), detail };
    gathered.topics.add(topic);
    gathered.detail = detail;
    this.#gathered.set(news, gathered);
    this.#tellSoon();
  }

  #tellSoon(): void {
    this.#timer ??= this.#clock.setTimer(GATHERING, () => this.#tellGathered());
  }

  #tellGathered(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#haveSharesChanged) {
      const { owned, partitions } = this.#sum();
      this.#log.log(`Owns ${owned} of ${partitions} partitions of ${this.#shares.size} topics`);
    }
    this.#haveSharesChanged = false;
    for (const [{ level, ofOne, ofMany }, { topics, detail }] of this.#gathered) {
      const [topic = ''] = topics;
      this.#log[level](topics.size === 1 ? ofOne(topic, detail) : ofMany(topics.size, detail));
    }
    this.#gathered.clear();
  }

  #detail(line: string): void {
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

/** Logs the changes that this process sees in one topic: once per change, however many partitions show it. */
export class TopicLog {
  readonly #log: ConsumptionLog;
  readonly #topic: string;
  /** Owned partitions as logged last. */
  #owned = '';
  #paused = new Set<number>();
  readonly #full = new Set<number>();
  #isFailing = false;

  constructor(log: ConsumptionLog, topic: string) {
    this.#log = log;
    this.#topic = topic;
  }

  /** Call this after each comparison of this process's holdings with its share; `indexes` ascend. */
  owns(indexes: readonly number[]): void {
    // This process no longer hears of a partition that it gave up; its new owner logs whether that resumes.
    this.#paused = new Set(indexes.filter((index) => this.#paused.has(index)));
    const owned = indexes.join();
    if (owned === this.#owned) return;
    this.#owned = owned;
    this.#log.owns(this.#topic, indexes);
  }

  /** Call this with the result of each claim of a partition. */
  sawPaused(index: number, paused: boolean): void {
    const before = this.#paused.size;
    if (paused) this.#paused.add(index);
    else this.#paused.delete(index);
    const after = this.#paused.size;
    if (before === 0 && after > 0) this.#log.paused(this.#topic);
    if (before > 0 && after === 0) this.#log.resumed(this.#topic);
  }

  /** Call this when outcomes of a partition begin to wait for room, and when all of them are stored. */
  sawFull(index: number, full: boolean): void {
    const before = this.#full.size;
    if (full) this.#full.add(index);
    else this.#full.delete(index);
    const after = this.#full.size;
    if (before === 0 && after > 0) this.#log.full(this.#topic);
    if (before > 0 && after === 0) this.#log.hasRoomAgain(this.#topic);
  }

  /** Logs that permits of the topic always come too late. */
  starves(): void {
    this.#log.starves(this.#topic);
  }

  /** @param entries number of damaged entries in the partition */
  repaired(index: number, entries: number): void {
    this.#log.repaired(this.#topic, index, entries);
  }

  /** Call this with the reason why a partition could not be taken or given up; logs the first failure of an outage. */
  cannotMove(message: string): void {
    if (!this.#isFailing) this.#log.failing(this.#topic, message);
    this.#isFailing = true;
  }

  /** Call this once a partition is taken. */
  canMove(): void {
    this.#isFailing = false;
  }
}

/** Returns a text such as `0-3, 6` for 0, 1, 2, 3 and 6. */
function rangesOf(indexes: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const index of indexes) {
    const range = ranges.at(-1);
    if (range?.[1] === index - 1) range[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}
