/** Progress of an owned partition. Times are epoch milliseconds on the local clock. */
export interface PartitionProgress {
  readonly partition: number;
  /** Time at which the latest answered claim was sent, or claiming began. */
  readonly answeredAt: number;
  /** Time at which the unanswered claim was sent. */
  readonly unansweredSince: number | undefined;
  /** Time of the latest failure of a claim that is sent again, such as while Redis is away; `undefined` if none has failed. */
  readonly failedAt: number | undefined;
  /** Whether it waits for slots, since as many handlers run as are allowed, or for Redis to have room for outcomes. */
  readonly saturated: boolean;
  /** Whether it waits until a limit of its topic lets more begin. */
  readonly limited: boolean;
}

/** Progress of a topic that this process has a handler for. */
export interface TopicProgress {
  readonly topic: string;
  /** Whether its intake was stopped here on purpose, or has not started yet. */
  readonly stopped: boolean;
  /** The partitions that this process owns. */
  readonly owned: readonly PartitionProgress[];
  /** Deliveries that this process has not decided yet. */
  readonly handling: number;
  /** Handler calls of this process that go on although their time is up. */
  readonly abandoned: number;
  /** Time since which messages wait for a limit of the topic, on the local clock in epoch milliseconds; `undefined` if none do. */
  readonly limitedSince: number | undefined;
  /** Time since which its permits run out before a handler can be called, on the same clock; `undefined` if they do not. */
  readonly starvedSince: number | undefined;
}

/** Progress of this process. Times are epoch milliseconds on the local clock. */
export interface Progress {
  /** End of the latest answered heartbeat. */
  readonly renewedAt: number;
  /** Start of the heartbeat that waits for its answer. */
  readonly unansweredSince: number | undefined;
  /** Time at which Redis last failed to serve a heartbeat; `undefined` if it never has. */
  readonly failedAt: number | undefined;
  readonly topics: readonly TopicProgress[];
}

/** Longest time without an answer that is no wedge yet, in heartbeats. */
const HEARTBEATS = 3;

/** Shortest patience, below which a busy machine would be taken for a wedge; in milliseconds. */
const LEAST_PATIENCE = 1000;

/** @param heartbeat milliseconds */
export function patienceOf(heartbeat: number): number {
  return Math.max(heartbeat * HEARTBEATS, LEAST_PATIENCE);
}

/**
 * Whether nothing has come back for too long, neither an answer nor a failure. A caller that sees each try fail is at work, and has its answer
 * soon after Redis is back.
 *
 * @param now epoch milliseconds on the local clock, as are the others
 */
export function isQuiet(now: number, patience: number, answeredAt: number, failedAt = -Infinity): boolean {
  return now - Math.max(answeredAt, failedAt) > patience;
}
