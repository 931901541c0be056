/** What is set for the consumers of a process, defaults filled in. Times in milliseconds. */
export interface ConsumerSettings {
  /** Handler calls at once. */
  readonly concurrency: number;
  readonly shutdownTimeout: number;
  /** Longest time without looking at a partition or telling the others that this process lives. */
  readonly maxIdleWait: number;
}
