import type { Clock } from '../../time/clock.js';
import { whenPermitted } from './begin-estimate.js';
import type { Admitted, LimitedClaimant, Permits } from './permits.js';
import type { TopicLimiter } from './topic-limiter.js';

type PermitSource = Pick<TopicLimiter, 'take' | 'keepsWaiting'>;

/** Waits until limits let a call begin that cannot be given back. */
export async function untilRenewed(clock: Clock, limiter: PermitSource, together: readonly Admitted[]): Promise<void> {
  do await whenPermitted(clock, together);
  while (await renewPermits(clock, limiter, together));
}

/**
 * Requests permits anew that expired before use, for deliveries that cannot be given back: those at most once. Waits while limits allow
 * nothing. Once the process stops asking for permits, the deliveries begin without, since they would be lost otherwise.
 *
 * @returns whether any permit had expired; then the deliveries can begin at another time
 */
export async function renewPermits(
  clock: Clock,
  limiter: PermitSource,
  deliveries: readonly Admitted[],
): Promise<boolean> {
  const now = clock.now();
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

/** Takes at least one permit; returns `undefined` if no more will come. */
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
