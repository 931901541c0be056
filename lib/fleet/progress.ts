/** How far an owned partition has come. Times are epoch milliseconds on the local clock. */
export interface PartitionProgress {
  readonly partition: number;
  /** When the latest claim that was answered was sent, or claiming began. */
  readonly answeredAt: number;
  /** When the claim that waits for its answer was sent. */
  readonly unansweredSince: number | undefined;
  /** When a claim failed last that is sent again, such as while Redis is away; `undefined` if none has. */
  readonly failedAt: number | undefined;
  /** It waits for slots, since as many handlers run as may; or for Redis to have room for outcomes. */
  readonly saturated: boolean;
  /** It waits until a limit of its topic lets more begin. */
  readonly limited: boolean;
}

/** What this process does for a topic that it has a handler for. */
export interface TopicProgress {
  readonly topic: string;
  /** Its intake was stopped here on purpose, or not started yet. */
  readonly stopped: boolean;
  /** The partitions that this process owns. */
  readonly owned: readonly PartitionProgress[];
  /** Deliveries that this process has not decided yet. */
  readonly handling: number;
  /** Handler calls of this process that go on although their time is up. */
  readonly abandoned: number;
  /** Since when messages wait for a limit of the topic, on the local clock in epoch milliseconds; `undefined` if none do. */
  readonly limitedSince: number | undefined;
  /** Since when what its limits permit is over before a handler can be called, on the same clock; `undefined` if that is not so. */
  readonly starvedSince: number | undefined;
}

/** How far this process has come. Times are epoch milliseconds on the local clock. */
export interface Progress {
  /** When the latest heartbeat that was answered ended. */
  readonly renewedAt: number;
  /** When the heartbeat began that waits for its answer. */
  readonly unansweredSince: number | undefined;
  /** When a heartbeat failed last since Redis did not serve it; `undefined` if none has. */
  readonly failedAt: number | undefined;
  readonly topics: readonly TopicProgress[];
}

/** For how long nothing may be answered before that is a wedge, in heartbeats. */
const HEARTBEATS = 3;

/** Below that, a busy machine would be taken for a wedge; in milliseconds. */
const LEAST_PATIENCE = 1000;

/** @param heartbeat milliseconds */
export function patienceOf(heartbeat: number): number {
  return Math.max(heartbeat * HEARTBEATS, LEAST_PATIENCE);
}

/**
 * Whether nothing has come back for too long, neither an answer nor a failure. Whoever sees each try fail is at work, and has its answer soon
 * after Redis is back.
 *
 * @param now epoch milliseconds on the local clock, as are the others
 */
export function isQuiet(now: number, patience: number, answeredAt: number, failedAt = -Infinity): boolean {
  return now - Math.max(answeredAt, failedAt) > patience;
}
