/** What is set for the consumers of a process, defaults filled in. Times in milliseconds. */
export interface ConsumerSettings {
  /** Handler calls at once. */
  readonly concurrency: number;
  /** Of a handler that sets none itself. */
  readonly lease: number;
  readonly shutdownTimeout: number;
  /** How often this process looks at its partitions and tells the others that it lives. */
  readonly heartbeat: number;
}
