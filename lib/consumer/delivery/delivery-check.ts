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
import type { ActiveBackoff } from '../../fleet/topic-settings.interface.js';
import type { ConsumerContext } from '../consumer-context.js';
import { ConsumedMessage, type Delivery } from './delivery.js';
import type { HandledTopic, HandlerSettings } from '../message-handler.interface.js';
import { RELEASED, type Verdict, dead, failed } from './verdict.js';

/** A delivery that may be handed to its handler, and what counts for it: the message's own settings, else the handler's. */
export interface CheckedDelivery {
  readonly delivery: Delivery;
  readonly message: ConsumedMessage;
  readonly backoff: ActiveBackoff;
  /** Longest run of its call, in milliseconds. */
  readonly timeout: number | undefined;
}

/** Either it is decided already, without the handler, or the message to hand over. */
export type CheckResult = Verdict | CheckedDelivery;

/** Answers whether there is nothing to wait for. */
export function isKnown(check: CheckResult | Promise<CheckResult>): check is CheckResult {
  return !(check instanceof Promise);
}

/** Finds out whether a delivery may be handed to its handler. */
export class DeliveryCheck {
  readonly #context: ConsumerContext;
  readonly #handled: HandledTopic;
  readonly #partition: Partition;
  /** Logged once: a topic may be full of them. */
  #isUnreadable = false;

  constructor(context: ConsumerContext, handled: HandledTopic, partition: Partition) {
    this.#context = context;
    this.#handled = handled;
    this.#partition = partition;
  }

  /** Neither throws nor rejects. Answers at once if nothing has to be waited for: most messages need no promise. */
  check(delivery: Delivery): CheckResult | Promise<CheckResult> {
    // The claim's reply lay unread, such as while the process was stopped: by now another one may handle the message.
    if (this.#isOver(delivery)) return RELEASED;
    return mayBeNoText(delivery.storedId) && !this.#isOnce ? this.#byId(delivery) : this.#stored(delivery);
  }

  /** The handler must not be called for a message that it could not settle. */
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
    // What was delivered before was not too late: it comes again after a failure, a crash or a shutdown.
    if (expireAfter !== undefined && delivery.number === 1) {
      const lateness = this.#context.broker.now(this.#partition) - delivery.dueAt;
      if (lateness > expireAfter) return expired(expireAfter, lateness);
    }
    // Only now: a payload whose reading kills the process has to use up its attempts.
    try {
      envelope = deserialized(this.#partition.topic, settings, envelope);
    } catch (error) {
      return dead(toFailure('undecodable', error));
    }
    return schema ? this.#bySchema(delivery, envelope, schema) : this.#accepted(delivery, envelope);
  }

  #accepted(delivery: Delivery, envelope: Envelope): CheckedDelivery {
    const { settings } = this.#handled;
    const message = new ConsumedMessage(delivery, envelope, envelope.attempts ?? settings.attempts);
    delivery.message = message;
    return {
      delivery,
      message,
      backoff: envelope.backoff ?? settings.backoff,
      timeout: envelope.timeout ?? settings.timeout,
    };
  }

  /** Delivers what the schema makes of the payload. If the schema fails, that counts as if the handler had. */
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
    // The schema may have taken its time.
    if (delivery.aborted || this.#isOver(delivery)) return RELEASED;
    return this.#accepted(delivery, { ...envelope, payload });
  }

  /** The schema may take as long as the handler after it. */
  #inTime<T>(checking: Promise<T>, timeout: number): Promise<T> {
    return within(this.#context.clock, timeout, checking, { error: () => new HandlerTimeoutError(timeout) });
  }

  /** Nothing is wrong with the message: another process can read it, or this one after its next boot. */
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

  /** What is delivered at most once needs no settle, and its attempts are those of an earlier time. */
  get #isOnce(): boolean {
    return this.#handled.settings.delivery === 'at-most-once';
  }

  /** Nobody else gets what is delivered at most once; if its permit is over, it waits for another one. */
  #isOver({ endsAt }: Delivery): boolean {
    return !this.#isOnce && this.#context.clock.now() >= endsAt;
  }

  /** The attempts were used up by a delivery that was never settled; what the one before failed with is worth keeping. */
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
  // Most messages were not serialized, and need no copy.
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
