import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Partition } from '../broker/broker.interface.js';
import { describeDuration } from '../time/duration.js';
import { describe } from '../checks/describe.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { isName } from '../messages/assert-id.js';
import { type Envelope, decodeEnvelope } from '../messages/envelope.js';
import { toFailure } from '../messages/failure.js';
import { MAX_ID_LENGTH } from '../checks/limits.js';
import { fromStored } from '../messages/serializer.js';
import { mayBeNoText } from '../messages/stored-id.js';
import type { ActiveBackoff } from '../topics/topic-settings.interface.js';
import { checkStored } from './check-stored.js';
import { ConsumedMessage } from './consumed-message.js';
import type { ConsumerContext } from './consumer-context.js';
import type { Delivery } from './delivery.js';
import type { HandlerSettings } from './message-handler.interface.js';
import { RELEASED, type Verdict, dead } from './verdict.js';

/** A delivery that may be handed to its handler, and what counts for it: the message's own settings, else the handler's. */
export interface CheckedDelivery {
  readonly delivery: Delivery;
  readonly message: ConsumedMessage;
  readonly backoff: ActiveBackoff;
  /** Longest run of its call, in milliseconds. */
  readonly timeout: number | undefined;
}

/** A delivery whose envelope could be read, and that is not too late. */
interface DecodedDelivery {
  readonly delivery: Delivery;
  readonly envelope: Envelope;
  readonly maxAttempts: number;
}

/** Either it is decided already, without the handler, or the message to hand over. */
export type CheckResult = Verdict | CheckedDelivery;

export interface DeliveryCheckOptions {
  readonly context: ConsumerContext;
  readonly partition: Partition;
  readonly settings: HandlerSettings;
  /** What payloads have to fit. */
  readonly schema: StandardSchemaV1 | undefined;
}

/** Finds out whether a delivery may be handed to its handler. */
export class DeliveryCheck {
  readonly #options: DeliveryCheckOptions;

  constructor(options: DeliveryCheckOptions) {
    this.#options = options;
  }

  /** Neither throws nor rejects. Answers at once where nothing has to be waited for: most messages need no promise. */
  check(delivery: Delivery): CheckResult | Promise<CheckResult> {
    // The claim's reply lay unread, as where the process was stopped: by now another one may handle the message.
    if (this.#isOver(delivery)) return RELEASED;
    return mayBeNoText(delivery.storedId) ? this.#byId(delivery) : this.#stored(delivery);
  }

  /** The handler must not be called for a message that it could not settle. */
  async #byId(delivery: Delivery): Promise<CheckResult> {
    const { context, partition } = this.#options;
    try {
      if (await context.broker.get(partition, delivery.storedId)) return await this.#stored(delivery);
    } catch {
      return RELEASED;
    }
    const text = 'Its id is no text in UTF-8. As a dead letter it has another one, with \\xHH for each such byte.';
    return dead(toFailure('undecodable', new SerializationError(text)));
  }

  #stored(delivery: Delivery): CheckResult | Promise<CheckResult> {
    const { context, partition, settings, schema } = this.#options;
    if (!isName(delivery)) return dead(toFailure('undecodable', new SerializationError(noName(delivery.storedId))));
    let envelope: Envelope;
    try {
      envelope = decodeEnvelope(delivery.envelope);
    } catch (error) {
      return dead(toFailure('undecodable', error));
    }
    const maxAttempts = envelope.attempts ?? settings.attempts;
    if (delivery.attempt > maxAttempts) return this.#crashed(delivery);
    const expireAfter = envelope.expireAfter ?? settings.expireAfter;
    if (expireAfter !== undefined) {
      const lateness = context.broker.now() - delivery.dueAt;
      if (lateness > expireAfter) return expired(expireAfter, lateness);
    }
    // Only now: a payload whose reading kills the process has to use up its attempts.
    try {
      envelope = deserialized(partition.topic, settings, envelope);
    } catch (error) {
      return dead(toFailure('undecodable', error));
    }
    const checked = { delivery, envelope, maxAttempts };
    return schema === undefined ? this.#accepted(checked) : this.#bySchema(checked, schema);
  }

  #accepted({ delivery, envelope, maxAttempts }: DecodedDelivery): CheckedDelivery {
    const { settings } = this.#options;
    const message = new ConsumedMessage(delivery, envelope, maxAttempts);
    delivery.message = message;
    return {
      delivery,
      message,
      backoff: envelope.backoff ?? settings.backoff,
      timeout: envelope.timeout ?? settings.timeout,
    };
  }

  async #bySchema(decoded: DecodedDelivery, schema: StandardSchemaV1): Promise<CheckResult> {
    const { context, settings } = this.#options;
    const { delivery, envelope, maxAttempts } = decoded;
    const checked = await checkStored(envelope, { schema, clock: context.clock, delivery, maxAttempts, settings });
    if ('outcome' in checked) return checked;
    // The schema may have taken its time.
    if (delivery.aborted || this.#isOver(delivery)) return RELEASED;
    return this.#accepted({ ...decoded, envelope: checked.envelope });
  }

  #isOver({ leaseEndsAt }: Delivery): boolean {
    return this.#options.context.clock.now() >= leaseEndsAt;
  }

  /** The attempts were used up by a delivery that was never settled; what the one before failed with is worth keeping. */
  async #crashed({ storedId, attempt }: Delivery): Promise<Verdict> {
    const { context, partition } = this.#options;
    const stored = await context.broker.get(partition, storedId).catch(() => undefined);
    const failure = toFailure(
      'crashed',
      new Error(`Attempt ${attempt - 1} was the last, and it never ended: its process crashed or lost its lease.`),
    );
    return dead(stored?.failure ? { ...failure, lastError: stored.failure } : failure);
  }
}

/** @throws SerializationError */
function deserialized(topic: string, { serializer }: HandlerSettings, envelope: Envelope): Envelope {
  // So with most messages, which need no copy.
  if (!envelope.serialized) return envelope;
  return { ...envelope, payload: fromStored(topic, serializer, envelope) };
}

function noName(storedId: string): string {
  return `Its stored id ${describe(storedId)} is no id, and no id and key, of 1 to ${MAX_ID_LENGTH} characters each.`;
}

function expired(expireAfter: number, lateness: number): Verdict {
  const text = `Not delivered within ${describeDuration(expireAfter)} after it was due (expireAfter), but ${Math.round(lateness)} ms after.`;
  return dead(toFailure('expired', new Error(text)));
}
