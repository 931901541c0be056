/** What is counted: the calls of one partition, one after another. */
export interface Counted {
  /** Publishes so many messages that are due at once, in one call. */
  publish(count: number): Promise<void>;
  /** Takes and acknowledges as many messages as are due, `most` at most. Returns how many. */
  handle(most: number): Promise<number>;
  close(): Promise<void>;
}
