/**
 * What operators need of the place where messages are kept. Every method takes a bounded amount of work and may be repeated
 * without harm.
 */
export interface AdminStore {
  /** The topics that were ever used, in the order of their bytes. */
  topics(): Promise<string[]>;
}
