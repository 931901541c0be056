import type { Partition } from './broker.interface.js';

/**
 * What operators need of the place where messages are kept. Every method takes a bounded amount of work and may be repeated
 * without harm.
 */
export interface AdminStore {
  /** The topics that were ever used, in the order of their bytes. */
  topics(): Promise<string[]>;
  /** From the next claim on nothing is handed out; what is in flight goes on. Lasts until {@link resume}. */
  pause(partition: Partition): Promise<void>;
  /** Ends a pause, and signals the owner. */
  resume(partition: Partition): Promise<void>;
}
