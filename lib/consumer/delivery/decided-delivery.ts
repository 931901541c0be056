import type { DeliveryOutcome } from '../../middleware/middleware.interface.js';
import type { Delivery } from './delivery.js';
import type { Verdict } from './verdict.js';

export interface DecidedDelivery {
  readonly delivery: Delivery;
  readonly verdict: Verdict;
  /** Name of the settle, if it can be repeated. */
  readonly operation?: string | undefined;
}

/** Converts the decided outcome of a delivery to the middleware's view. */
export function toDeliveryOutcome({ delivery, verdict: { outcome } }: DecidedDelivery): DeliveryOutcome {
  const { partition, id, key, attempt, message } = delivery;
  return {
    topic: partition.topic,
    partition: partition.index,
    id,
    key,
    attempt,
    message,
    outcome: outcome.kind,
    delay: 'delay' in outcome ? outcome.delay : undefined,
    failure: 'failure' in outcome ? outcome.failure : undefined,
  };
}
