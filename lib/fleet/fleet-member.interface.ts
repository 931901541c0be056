import type { Owner } from '../store/fleet/owner.js';
import type { Partition } from '../store/partition.js';

/** Participant in the fleet, through a session. */
export interface FleetMember {
  /** Takes its share of the partitions; called after each heartbeat. */
  share(): void;
  /** Reports what is new about this process; called after each answered heartbeat. */
  report(): void;
  /** Takes partitions that were released for it. */
  released(partitions: readonly Partition[]): void;
  /** Called after Redis has lost data. */
  restore(): void;
  /** Called when others may have taken this process for gone, forgotten its reports, and taken its partitions. */
  verify(): void;
  /** Called when signals may have been lost unnoticed. */
  lookAgain(): void;
  /** Called when another process is to own a partition that is stored as owned by this session. */
  wanted(partition: Partition, owner: Owner): void;
  /** Called when a topic may have permits for this process, or others wait for those that it holds. */
  permitsMoved(topic: string): void;
  /** Called when the lease of a delivery of this process has changed: it lasts `lease` milliseconds from now on; 0: it has ended. */
  leaseChanged(partition: Partition, token: string, lease: number): void;
  /** Called when other limits may be stored with a topic; without one, with any that this process handles. */
  limitsChanged(topic?: string): void;
}
