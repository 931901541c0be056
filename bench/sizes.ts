/** How much is measured. */
export interface Sizes {
  /** Messages published for a rate. */
  readonly publish: number;
  /** Messages handled for a rate. */
  readonly backlog: number;
  /** Messages handled one by one for a rate, and as many before that to warm up. */
  readonly few: number;
  /** Messages published and handled while the instructions of Redis are counted. */
  readonly counted: number;
  /** Messages due in the same millisecond. */
  readonly burst: number;
  /**
   * Messages handled for a rate that must not include the start, or that several processes share: with the most processes,
   * each handles as many as in a `backlog`.
   */
  readonly longBacklog: number;
  /** Messages spread over time. */
  readonly spread: number;
  /** Messages that fall due before those, in the same way, but do not count. */
  readonly leadIn: number;
  /** Messages that wait in Redis, for the memory of each. */
  readonly waiting: number;
  /** Messages in flight in one process. */
  readonly inFlight: number;
  /** Messages due at once, for the longest block of Redis. */
  readonly block: number;
  /** Messages that wait while others are published and handled. */
  readonly growth: readonly number[];
  /** Finished messages that are kept while others are handled. */
  readonly finished: number;
  /** For how long the cost of idling is measured, in milliseconds. */
  readonly idle: number;
  /**
   * From the start of a process until that measurement, in milliseconds. Once a process has been idle for some seconds, the
   * engine collects the garbage of its start, which takes more CPU time than a minute of idling.
   */
  readonly settle: number;
  /** Messages that wait during that measurement. */
  readonly idleWaiting: number;
  /**
   * Messages published and handled by each process before it is measured: with fewer, the engine still compiles during the
   * measurement, and takes a core for it.
   */
  readonly warmUp: number;
}

export const FULL: Sizes = {
  publish: 100_000,
  backlog: 100_000,
  few: 20_000,
  counted: 800,
  burst: 20_000,
  longBacklog: 400_000,
  spread: 3_000,
  leadIn: 3_000,
  waiting: 100_000,
  inFlight: 100_000,
  block: 500_000,
  growth: [10_000, 1_000_000, 5_000_000],
  finished: 1_000_000,
  idle: 20_000,
  settle: 20_000,
  idleWaiting: 1_000_000,
  warmUp: 60_000,
};

/** Only to try whether the benchmark works; the figures mean nothing. */
export const QUICK: Sizes = {
  publish: 2_000,
  backlog: 3_000,
  few: 500,
  counted: 200,
  burst: 1_000,
  longBacklog: 3_000,
  spread: 200,
  leadIn: 50,
  waiting: 3_000,
  inFlight: 1_000,
  block: 3_000,
  growth: [500, 1_000, 5_000],
  finished: 2_000,
  idle: 2_000,
  settle: 2_000,
  idleWaiting: 2_000,
  warmUp: 500,
};

/** Delay of messages that only wait, in milliseconds. */
export const DAY = 86_400_000;

/** Partitions of a topic, the library's default. */
export const PARTITIONS = 8;

/** The topic that is measured. */
export const TOPIC = 'bench';
