import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Clock, Timer } from '../time/clock.js';
import { HandlerTimeoutError } from '../errors/handling.errors.js';
import { InvalidPayloadError } from '../errors/publishing.errors.js';
import { checkPayload } from '../messages/check-payload.js';
import type { Envelope } from '../messages/envelope.js';
import { toInvalidFailure } from '../messages/failure.js';
import type { Delivery } from './delivery.js';
import type { HandlerSettings } from './message-handler.interface.js';
import { outcomeOf } from './retry-policy.js';
import type { Verdict } from './verdict.js';

export interface StoredCheck {
  readonly schema: StandardSchemaV1;
  readonly clock: Clock;
  readonly delivery: Delivery;
  readonly maxAttempts: number;
  /** The schema may take as long as the handler after it. */
  readonly settings: HandlerSettings;
}

/**
 * Checks what is stored against the schema of its topic, before it is delivered.
 *
 * @returns the envelope with the schema's output as its payload; or what becomes of the message instead, where it does not
 * fit, or the schema fails, which counts as if the handler had
 */
export async function checkStored(
  envelope: Envelope,
  { schema, clock, delivery, maxAttempts, settings }: StoredCheck,
): Promise<{ readonly envelope: Envelope } | Verdict> {
  const { timeout = settings.timeout, backoff = settings.backoff } = envelope;
  try {
    const checking = checkPayload(delivery.partition.topic, schema, envelope.payload);
    const payload = await (timeout === undefined ? checking : inTime(checking, clock, timeout));
    return { envelope: { ...envelope, payload } };
  } catch (error) {
    if (error instanceof InvalidPayloadError) {
      return { outcome: { kind: 'dead', failure: toInvalidFailure(error), spent: false } };
    }
    const { attempt } = delivery;
    return {
      error,
      attemptsLeft: maxAttempts - attempt,
      outcome: outcomeOf(error, { attempt, maxAttempts }, backoff),
    };
  }
}

async function inTime<T>(work: Promise<T>, clock: Clock, timeout: number): Promise<T> {
  let timer: Timer | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = clock.setTimer(timeout, () => reject(new HandlerTimeoutError(timeout)));
  });
  try {
    return await Promise.race([work, overdue]);
  } finally {
    timer?.cancel();
  }
}
