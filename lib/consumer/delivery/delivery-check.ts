import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Partition } from '../../store/partition.js';
import { describe } from '../../checks/describe.js';
import { MAX_ID_LENGTH } from '../../checks/limits.js';
import { HandlerTimeoutError } from '../../errors/handling.errors.js';
import { InvalidPayloadError, SerializationError } from '../../errors/publishing.errors.js';
import { isName } from '../../messages/message-ref.js';
import { DEFAULT_BACKOFF, backoffDelay } from '../../messages/backoff.js';
import { checkPayload } from '../../messages/payload-schema.js';
import { type Envelope, decodeEnvelope } from '../../messages/envelope.js';
import { toFailure, toInvalidFailure } from '../../messages/failure.js';
import { fromStored, withoutSerializer } from '../../messages/serializer.js';
import { mayBeNoText } from '../../messages/stored-id.js';
import { within } from '../../time/deadline.js';
import { describeDuration } from '../../time/duration.js';
import type { ConsumerContext } from '../consumer-context.js';
import { ConsumedMessage, type Delivery } from './delivery.js';
import type { HandledTopic, HandlerSettings } from '../message-handler.interface.js';
import { RELEASED, type Verdict, dead, failed } from './verdict.js';

/** Result of a check: a verdict without a call of the handler; `undefined` if the delivery was accepted, as a {@link CheckedDelivery}. */
export type CheckResult = Verdict | undefined;

/** Checks whether a delivery can be handed to its handler. */
export class DeliveryCheck {
  readonly #context: ConsumerContext;
  readonly #handled: HandledTopic;
  readonly #partition: Partition;
  /** Whether an unreadable message was logged: a topic may be full of them. */
  #isUnreadable = false;

  constructor(context: ConsumerContext, handled: HandledTopic, partition: Partition) {
    this.#context = context;
    this.#handled = handled;
    this.#partition = partition;
  }

  /** Neither throws nor rejects. Returns at once if there is nothing to wait for: most messages need no promise. */
  check(delivery: Delivery): CheckResult | Promise<CheckResult> {
    // The claim's reply lay unread, for example while the process was suspended: another one may handle the message by now.
    if (this.#isOver(delivery)) return RELEASED;
    return mayBeNoText(delivery.storedId) && !this.#isOnce ? this.#byId(delivery) : this.#stored(delivery);
  }

  /** The handler must not be called for a message that no settle could find. */
  async #byId(delivery: Delivery): Promise<CheckResult> {
    try {
      if (await this.#context.broker.messages.get(this.#partition, delivery.storedId))
        return await this.#stored(delivery);
    } catch {
      return RELEASED;
    }
    const text = 'Its id is no text in UTF-8. As a dead letter it has another one, with \\xHH for each such byte.';
    return dead(toFailure('undecodable', new SerializationError(text)));
  }

  #stored(delivery: Delivery): CheckResult | Promise<CheckResult> {
    const { schema, settings } = this.#handled;
    if (!isName(delivery)) return dead(toFailure('undecodable', new SerializationError(noName(delivery.storedId))));
    let envelope: Envelope;
    try {
      envelope = decodeEnvelope(delivery.envelope);
    } catch (error) {
      return dead(toFailure('undecodable', error));
    }
    if (envelope.serialized && !settings.serializer && !this.#isOnce) return this.#unreadable(delivery);
    const maxAttempts = envelope.attempts ?? settings.attempts;
    if (delivery.attempt > maxAttempts && !this.#isOnce) return this.#crashed(delivery);
    const expireAfter = envelope.expireAfter ?? settings.expireAfter;
    // A message that was delivered before was not too late: it comes again after a failure, a crash or a shutdown.
    if (expireAfter !== undefined && delivery.number === 1) {
      const lateness = this.#context.broker.now(this.#partition) - delivery.dueAt;
      if (lateness > expireAfter) return expired(expireAfter, lateness);
    }
    // Read only now: a payload that kills the process while it is read must use up its attempts.
    try {
      envelope = deserialized(this.#partition.topic, settings, envelope);
    } catch (error) {
      return dead(toFailure('undecodable', error));
    }
    return schema ? this.#bySchema(delivery, envelope, schema) : this.#accepted(delivery, envelope);
  }

  #accepted(delivery: Delivery, envelope: Envelope): undefined {
    const { settings } = this.#handled;
    delivery.message = new ConsumedMessage(delivery, envelope, envelope.attempts ?? settings.attempts);
    delivery.backoff = envelope.backoff ?? settings.backoff;
    delivery.timeout = envelope.timeout ?? settings.timeout;
  }

  /** Delivers the payload as the schema returns it. A schema that fails counts as a failed handler. */
  async #bySchema(delivery: Delivery, envelope: Envelope, schema: StandardSchemaV1): Promise<CheckResult> {
    const { settings } = this.#handled;
    const { attempts = settings.attempts, timeout = settings.timeout, backoff = settings.backoff } = envelope;
    let payload: unknown;
    try {
      const checking = checkPayload(this.#partition.topic, schema, envelope.payload);
      payload = await (timeout === undefined ? checking : this.#inTime(checking, timeout));
    } catch (error) {
      if (error instanceof InvalidPayloadError) return dead(toInvalidFailure(error));
      return failed(error, { attempt: delivery.attempt, maxAttempts: attempts }, backoff);
    }
    // The schema may have taken a while.
    if (delivery.aborted || this.#isOver(delivery)) return RELEASED;
    return this.#accepted(delivery, { ...envelope, payload });
  }

  /** Gives the schema the same time limit as the handler after it. */
  #inTime<T>(checking: Promise<T>, timeout: number): Promise<T> {
    return within(this.#context.clock, timeout, checking, { error: () => new HandlerTimeoutError(timeout) });
  }

  /** Puts a message off. Nothing is wrong with it: another process can read it, or this one after its next boot. */
  #unreadable({ partition, number }: Delivery): Verdict {
    const { events, log } = this.#context;
    const { topic, index } = partition;
    const text = withoutSerializer(topic);
    events.emit('errors', { source: 'claim', topic, partition: index, error: new SerializationError(text) });
    if (!this.#isUnreadable) log.error(`Messages of topic '${topic}' are put off. ${text}`);
    this.#isUnreadable = true;
    this.#handled.cannotRead?.();
    return { outcome: { kind: 'put-off', delay: backoffDelay(DEFAULT_BACKOFF, number) } };
  }

  /** Whether messages are delivered at most once: then they need no settle, and their attempts stem from an earlier setting. */
  get #isOnce(): boolean {
    return this.#handled.settings.delivery === 'at-most-once';
  }

  /**
   * Whether the delivery has ended; never at most once: no other process gets the message, and if its permit is over, it waits for another.
   */
  #isOver({ endsAt }: Delivery): boolean {
    return !this.#isOnce && this.#context.clock.now() >= endsAt;
  }

  /** Makes a dead letter of a message whose last attempt was never settled; keeps the error of the attempt before it. */
  async #crashed({ storedId, attempt }: Delivery): Promise<Verdict> {
    const stored = await this.#context.broker.messages.get(this.#partition, storedId).catch(() => undefined);
    const failure = toFailure(
      'crashed',
      new Error(`Attempt ${attempt - 1} was the last, and it never ended: its process crashed or lost its lease.`),
    );
    const lastError = stored?.failure?.reason === 'crashed' ? stored.failure.lastError : stored?.failure;
    return dead(lastError ? { ...failure, lastError } : failure);
  }
}

/** @throws SerializationError */
function deserialized(topic: string, { serializer }: HandlerSettings, envelope: Envelope): Envelope {
  // Most messages are not serialized and need no copy.
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
