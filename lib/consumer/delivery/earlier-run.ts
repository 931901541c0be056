import { HandlerTimeoutError } from '../../errors/handling.errors.js';
import { within } from '../../time/deadline.js';
import type { Delivery } from './delivery.js';
import type { CheckedDelivery } from './delivery-check.js';
import type { TopicHandling } from './topic-handling.js';
import { RELEASED, type Verdict, failedAttempt } from './verdict.js';

/**
 * What becomes of a redelivery whose message still runs here in an earlier delivery. As soon as that run ends, or the
 * redelivery is aborted, it is given back, to be claimed anew when a slot is free. If its own `timeout` is over before, the
 * attempt has failed. Without a `timeout` the run may be meant to take long: the message is given back after a lease, for
 * whichever process owns its partition by then, and no attempt is spent. Never rejects.
 */
export async function waitForEarlierRun(
  { context, handled }: TopicHandling,
  { delivery, message, backoff, timeout }: CheckedDelivery,
  earlier: Delivery,
): Promise<Verdict> {
  const { clock, broker } = context;
  const ended = earlier.call?.ended ?? Promise.resolve();
  try {
    await within(clock, timeout ?? handled.settings.lease, ended, { signal: delivery.signal });
    return RELEASED;
  } catch {
    if (delivery.aborted || timeout === undefined) return RELEASED;
    const error = new HandlerTimeoutError(timeout, earlier.attempt);
    return failedAttempt(error, message, backoff, { at: broker.now(), duration: 0 });
  }
}
