import type { Owner } from '../store/fleet/owner.js';
import type { Partition } from '../store/partition.js';

/** What takes part in the fleet by a session. */
export interface FleetMember {
  /** Takes its share of the partitions; called after each heartbeat. */
  share(): void;
  /** Tells what is new of this process; called after each heartbeat that was answered. */
  report(): void;
  /** Takes partitions that were released for it. */
  released(partitions: readonly Partition[]): void;
  /** Redis has lost data. */
  restore(): void;
  /** Others may have taken this process for gone, forgotten what it has told, and taken its partitions. */
  verify(): void;
  /** Signals may have got lost without a sign of it. */
  lookAgain(): void;
  /** Another process is to own a partition that is stored as owned by this session. */
  wanted(partition: Partition, owner: Owner): void;
  /** There may be permits of a topic for this process, or others wait for those that it has. */
  permitsMoved(topic: string): void;
  /** A delivery that this process has handed out lasts for so long from now on, in milliseconds; 0: it has ended. */
  leaseChanged(partition: Partition, token: string, lease: number): void;
  /** Other limits may be stored with a topic; without one, with any that this process handles. */
  limitsChanged(topic?: string): void;
}
