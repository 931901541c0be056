/** How far an owned partition has come. Times are epoch milliseconds on the local clock. */
export interface PartitionProgress {
  readonly partition: number;
  /** When the latest claim that was answered was sent, or claiming began. */
  readonly answeredAt: number;
  /** When the claim that waits for its answer was sent. */
  readonly unansweredSince: number | undefined;
  /** It waits for slots: as many handlers run as may. */
  readonly saturated: boolean;
}

/** How far this process has come with a topic it handles. */
export interface TopicProgress {
  readonly topic: string;
  /** When the latest heartbeat that was answered ended, epoch milliseconds on the local clock. */
  readonly heartbeatAt: number;
  /** When the heartbeat began that waits for its answer. */
  readonly unansweredSince: number | undefined;
  /** The partitions that this process owns. */
  readonly owned: readonly PartitionProgress[];
}

/** For how long nothing may be answered before that is a wedge, in heartbeats. */
const HEARTBEATS = 3;

/** Below that, a busy machine would be taken for a wedge; in milliseconds. */
const LEAST_PATIENCE = 1000;

/** @param heartbeat milliseconds */
export function patienceOf(heartbeat: number): number {
  return Math.max(heartbeat * HEARTBEATS, LEAST_PATIENCE);
}
