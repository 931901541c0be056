import type { Outcome } from '../broker/broker.interface.js';
import type { DeliveryOutcome } from '../middleware/middleware.interface.js';
import type { Delivery } from './delivery.js';

/** What is to become of a delivery, as middleware sees it. */
export function toDeliveryOutcome({
  delivery,
  outcome,
}: {
  readonly delivery: Delivery;
  readonly outcome: Outcome;
}): DeliveryOutcome {
  return {
    topic: delivery.partition.topic,
    partition: delivery.partition.index,
    id: delivery.id,
    key: delivery.key,
    attempt: delivery.attempt,
    message: delivery.message,
    outcome: outcome.kind,
    delay: 'delay' in outcome ? outcome.delay : undefined,
    failure: 'failure' in outcome ? outcome.failure : undefined,
  };
}
