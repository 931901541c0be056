import type { ClaimResult } from '../../store/deliveries/claim.js';
import type { Partition } from '../../store/partition.js';
import { type BeginEstimate, BeginTimes } from '../admission/begin-estimate.js';
import { Delivery } from './delivery.js';
import type { Permits } from '../admission/permits.js';
import type { SuspectRoom } from '../admission/suspect-quota.js';

/** What the owner of a partition is answered. */
export type Claimed = Exclude<ClaimResult, { status: 'not-owner' }>;

export type NotOwner = Extract<ClaimResult, { status: 'not-owner' }>;

/** A claim that was answered, and when it was sent, in epoch milliseconds on the local clock. */
export interface AnsweredClaim {
  readonly result: ClaimResult;
  /** How many messages it asked for. */
  readonly max: number;
  readonly sentAt: number;
  readonly room: SuspectRoom;
  /** As that of {@link SentClaim}. */
  readonly lease: number;
}

/** How a claim was sent; times are epoch milliseconds on the local clock. */
export interface SentClaim {
  readonly sentAt: number;
  /** What it was asked with, in milliseconds; 0: at most once. */
  readonly lease: number;
  /** What begin was asked for by, if a rate of keys limits it. */
  readonly estimate: BeginEstimate;
  readonly permits: Permits | undefined;
}

/** The deliveries that a claim has brought, with what limits say of them. */
export function deliveriesOf(
  partition: Partition,
  { messages, grantedAt, begins }: Claimed,
  { sentAt, lease, estimate, permits }: SentClaim,
): Delivery[] {
  // Nobody else gets what is delivered at most once, however late its call is.
  const leaseEndsAt = lease === 0 ? Infinity : sentAt + lease;
  const granted = begins && new BeginTimes(estimate, begins);
  const limits = [permits?.begin, granted].filter((times) => times !== undefined);
  return messages.map((message) => {
    const delivery = new Delivery(partition, message, leaseEndsAt);
    delivery.permits = permits;
    delivery.grantedAt = grantedAt;
    if (limits.length > 0) delivery.begin = limits;
    return delivery;
  });
}
