import { whenPermitted } from '../admission/begin-estimate.js';
import type { Delivery } from './delivery.js';
import type { LimitedClaimant, Permits } from '../admission/permits.js';
import type { TopicHandling } from './topic-handling.js';
import type { TopicLimiter } from '../admission/topic-limiter.js';

type PermitSource = Pick<TopicLimiter, 'take' | 'keepsWaiting'>;

/** What a call of the handler consists of. */
type Checked = readonly { readonly delivery: Delivery }[];

/** Waits for the time from which limits let a call begin that cannot be given back. */
export async function untilRenewed(handling: TopicHandling, checked: Checked): Promise<void> {
  const deliveries = checked.map(({ delivery }) => delivery);
  do await whenPermitted(handling.context.clock, checked);
  while (await renewPermits(handling, deliveries));
}

/**
 * Asks anew for permits that are over before they could be used, for deliveries that cannot be given back: those at most once. It waits
 * while limits allow nothing. Once the process asks for nothing more they begin all the same, since they would be lost.
 *
 * @returns whether any was over; then there is another time from which they may begin
 */
export async function renewPermits(
  { context, limiter }: { readonly context: Pick<TopicHandling['context'], 'clock'>; readonly limiter: PermitSource },
  deliveries: readonly Delivery[],
): Promise<boolean> {
  const now = context.clock.now();
  const late = deliveries.filter(({ permits }) => permits?.isOver(now));
  if (late.length === 0) return false;
  for (const delivery of late) {
    const { permits } = delivery;
    permits?.notCalled();
    permits?.ended();
    delivery.begin = delivery.begin?.filter((times) => times !== permits?.begin);
    delivery.permits = undefined;
  }
  while (late.length > 0) {
    const permits = await takeSome(limiter, late.length);
    if (!permits) break;
    for (const delivery of late.splice(0, permits.count)) {
      delivery.permits = permits;
      if (permits.begin) delivery.begin = [permits.begin, ...(delivery.begin ?? [])];
    }
  }
  return true;
}

/** At least one; `undefined` if there will be none any more. */
async function takeSome(limiter: PermitSource, wanted: number): Promise<Permits | undefined> {
  for (;;) {
    const claimant = new Waiting();
    const permits = await limiter.take(claimant, wanted);
    if (permits.count > 0) return permits;
    if (!limiter.keepsWaiting(claimant)) return undefined;
    await claimant.told;
  }
}

class Waiting implements LimitedClaimant {
  readonly told: Promise<void>;
  lookAgain: () => void = () => {};

  constructor() {
    this.told = new Promise((resolve) => (this.lookAgain = resolve));
  }
}
