import type { Address } from '../../fleet/faults/scene.js';

/** The servers of a drill, on the loopback interface. */
export interface Servers {
  /** How an application reaches them. */
  readonly address: Address;
  /** Ends them all, and removes what they have on disk. */
  stop(): Promise<void>;
}
