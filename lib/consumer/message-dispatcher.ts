import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Outcome, Partition } from '../broker/broker.interface.js';
import type { Timer } from '../common/clock.js';
import { DeliveryAbortedError } from '../errors/delivery-aborted.error.js';
import { HandlerTimeoutError } from '../errors/handler-timeout.error.js';
import { type Envelope, decodeEnvelope } from '../message/envelope.js';
import { type Failure, toFailure } from '../message/failure.js';
import { checkStored } from './check-stored.js';
import { ConsumedMessage } from './consumed-message.js';
import type { ConsumerContext } from './consumer-context.js';
import type { Delivery } from './delivery.js';
import type { RunningDeliveries } from './lease-renewer.js';
import type { HandlerSettings, MessageHandler } from './message-handler.interface.js';
import { outcomeOf } from './retry-policy.js';
import type { Settler } from './settler.js';

/** What became of a delivery. */
interface Verdict {
  readonly outcome: Outcome;
  /** What the handler threw. */
  readonly error?: unknown;
  /** How long the handler ran, in milliseconds. */
  readonly duration?: number;
}

export interface MessageDispatcherOptions {
  readonly context: ConsumerContext;
  readonly partition: Partition;
  readonly handler: MessageHandler;
  /** What payloads have to fit before the handler gets them. */
  readonly schema: StandardSchemaV1 | undefined;
  readonly settings: HandlerSettings;
  readonly settler: Settler;
  /** Told when a delivery needs its slot no more. */
  readonly onSlotFree: () => void;
  /** Told when a message has become a dead letter. */
  readonly onDead: () => void;
}

/** Runs one partition's deliveries: decodes, calls the handler, and decides what becomes of the message. */
export class MessageDispatcher {
  readonly #options: MessageDispatcherOptions;
  /** Those whose handlers run, or wait for an earlier run of the same message to end. */
  readonly running: RunningDeliveries = new Map();

  constructor(options: MessageDispatcherOptions) {
    this.#options = options;
  }

  /** Takes a delivery that has a slot. */
  dispatch(delivery: Delivery): void {
    const earlier = this.running.get(delivery.storedId);
    this.running.set(delivery.storedId, delivery);
    if (earlier) {
      // Its lease ended unnoticed, as where the event loop was blocked. The same message never runs twice at once here.
      earlier.abort(new DeliveryAbortedError('LEASE_LOST'));
      delivery.finished = (earlier.finished ?? Promise.resolve()).then(() => this.#run(delivery));
    } else {
      delivery.finished = this.#run(delivery);
    }
  }

  /** Gives back what still runs: the signals abort, and the messages are at once free for another process. */
  releaseAll(): void {
    for (const delivery of this.running.values()) {
      delivery.abort(new DeliveryAbortedError('SHUTDOWN'));
      this.#settle(delivery, { outcome: { kind: 'release' } });
    }
  }

  /** Never rejects. */
  async #run(delivery: Delivery): Promise<void> {
    if (!delivery.settled) this.#settle(delivery, await this.#verdict(delivery));
    if (this.running.get(delivery.storedId) === delivery) this.running.delete(delivery.storedId);
  }

  async #verdict(delivery: Delivery): Promise<Verdict> {
    // The claim's reply lay unread, as where the process was stopped: by now another one may handle the message.
    if (this.#isOver(delivery)) return { outcome: { kind: 'release' } };
    let envelope: Envelope;
    try {
      envelope = decodeEnvelope(delivery.envelope);
    } catch (error) {
      return dead(toFailure('undecodable', error));
    }
    const { settings, schema } = this.#options;
    const maxAttempts = envelope.attempts ?? settings.attempts;
    if (delivery.attempt > maxAttempts) return dead(await this.#crashFailure(delivery));
    const expireAfter = envelope.expireAfter ?? settings.expireAfter;
    const lateness = this.#options.context.broker.now() - delivery.dueAt;
    if (expireAfter !== undefined && lateness > expireAfter) {
      const text = `Not delivered within ${expireAfter} ms of its due time, but ${Math.round(lateness)} ms after it.`;
      return dead(toFailure('expired', new Error(text)));
    }
    if (schema !== undefined) {
      const { clock } = this.#options.context;
      const checked = await checkStored(envelope, { schema, clock, delivery, maxAttempts, settings });
      if ('outcome' in checked) return checked;
      // The schema may have taken its time.
      if (delivery.aborted || this.#isOver(delivery)) return { outcome: { kind: 'release' } };
      envelope = checked.envelope;
    }
    return this.#call(delivery, new ConsumedMessage(delivery, envelope, maxAttempts), envelope, lateness);
  }

  #isOver({ leaseEndsAt }: Delivery): boolean {
    return this.#options.context.clock.now() >= leaseEndsAt;
  }

  async #call(delivery: Delivery, message: ConsumedMessage, envelope: Envelope, lateness: number): Promise<Verdict> {
    const { context, handler, settings } = this.#options;
    const { events, clock } = context;
    const backoff = envelope.backoff ?? settings.backoff;
    const failed = (error: unknown): Verdict => ({ error, outcome: outcomeOf(error, message, backoff) });
    const startedAt = clock.now();
    if (events.wants('delivered')) events.emit('delivered', { ...delivery.describe(), lateness });
    const timer = this.#limitTime(delivery, envelope.timeout ?? settings.timeout, failed);
    try {
      await handler.handle(message);
      return { outcome: { kind: 'ack' }, duration: clock.now() - startedAt };
    } catch (error) {
      return failed(error);
    } finally {
      timer?.cancel();
    }
  }

  /** At the time limit the delivery fails, whether or not the handler heeds its signal. */
  #limitTime(delivery: Delivery, timeout: number | undefined, failed: (error: unknown) => Verdict): Timer | undefined {
    if (timeout === undefined) return undefined;
    return this.#options.context.clock.setTimer(timeout, () => {
      const error = new HandlerTimeoutError(timeout);
      delivery.abort(error);
      this.#settle(delivery, failed(error));
    });
  }

  /** The first verdict on a delivery counts. */
  #settle(delivery: Delivery, verdict: Verdict): void {
    if (delivery.settled) return;
    delivery.settled = true;
    const { settler, onSlotFree } = this.#options;
    settler.settle(delivery, verdict.outcome, this.#reporter(delivery, verdict));
    onSlotFree();
  }

  /** What is told once the outcome took effect; most of the time nobody listens. */
  #reporter(delivery: Delivery, { outcome, error, duration = 0 }: Verdict): (() => void) | undefined {
    const { context, handler, onDead } = this.#options;
    const { events, log } = context;
    switch (outcome.kind) {
      case 'ack':
        return events.wants('acked') ? () => events.emit('acked', { ...delivery.describe(), duration }) : undefined;
      case 'retry':
      case 'put-off':
        return events.wants('retried')
          ? () => events.emit('retried', { ...delivery.describe(), delay: outcome.delay, error })
          : undefined;
      case 'dead':
        return () => {
          const { topic } = delivery.partition;
          const { reason, message } = outcome.failure;
          log.error(`Message '${delivery.id}' of topic '${topic}' is dead (${reason}) in ${handler.name}: ${message}`);
          if (events.wants('dead')) events.emit('dead', { ...delivery.describe(), failure: outcome.failure });
          onDead();
        };
      default:
        return undefined;
    }
  }

  /** The attempts were used up by a delivery that was never settled; what the one before failed with is worth keeping. */
  async #crashFailure({ storedId, attempt }: Delivery): Promise<Failure> {
    const { context, partition } = this.#options;
    const stored = await context.broker.get(partition, storedId).catch(() => undefined);
    const failure = toFailure(
      'crashed',
      new Error(`Attempt ${attempt - 1} was the last, and its process crashed or lost its lease before it settled.`),
    );
    return stored?.failure ? { ...failure, lastError: stored.failure } : failure;
  }
}

/** A dead letter without a call of the handler. */
function dead(failure: Failure): Verdict {
  return { outcome: { kind: 'dead', failure, spent: false } };
}
