/** One partition of a topic. */
export interface Partition {
  readonly topic: string;
  readonly index: number;
}

/**
 * Name of a call, so that a repeat is recognized and answered, not done again. A caller numbers its calls to a partition and
 * makes one after another.
 */
export interface CallId {
  readonly caller: string;
  readonly sequence: number;
  /** Time for which the answer is kept at least, so that a repeat is recognized, in milliseconds. @defaultValue 2 min */
  readonly rememberFor?: number | undefined;
}

/** Most messages in one call; keeps every script short and every argument list under 1,000. */
export const MAX_BATCH = 200;
