import { type ClaimResult, PERMIT_LIFE, type Partition } from '../broker/broker.interface.js';
import { Delivery } from './delivery.js';
import type { Permits } from './permits.js';
import type { TopicHandling } from './topic-handling.js';

/** What the owner of a partition is answered. */
export type Claimed = Exclude<ClaimResult, NotOwner>;

/** What anybody else is answered. */
export type NotOwner = Extract<ClaimResult, { status: 'not-owner' }>;

/** How a claim was sent; times are epoch milliseconds on the local clock. */
export interface SentClaim {
  readonly sentAt: number;
  /** When it was sent for the first time; it may have been repeated. */
  readonly firstSentAt: number;
  readonly permits: Permits | undefined;
  /** Milliseconds; 0 for at most once. */
  readonly lease: number;
}

/** The deliveries that a claim has brought, with what limits say of them. */
export function deliveriesOf(
  { limiter }: Pick<TopicHandling, 'limiter'>,
  partition: Partition,
  { messages, grantedAt }: Claimed,
  { sentAt, firstSentAt, permits, lease }: SentClaim,
): Delivery[] {
  // Nobody else gets what is delivered at most once, however late its call is.
  const leaseEndsAt = lease === 0 ? Infinity : sentAt + lease;
  const keyRate = limiter.keyLimits?.rate;
  return messages.map((message) => {
    const delivery = new Delivery(partition, message, leaseEndsAt);
    delivery.lease = lease;
    if (!permits && !keyRate) return delivery;
    delivery.permits = permits;
    delivery.grantedAt = grantedAt;
    delivery.mustBeginBy = Math.min(permits?.beginBy ?? Infinity, keyRate ? firstSentAt + PERMIT_LIFE : Infinity);
    return delivery;
  });
}
