import { isError } from '../../checks/kinds.js';
import type { Outcome } from '../../store/deliveries/settle.js';
import type { TopicOrder } from '../../store/fleet/topic-config.js';
import { describe } from '../../checks/describe.js';
import { DeliveryAbortedError, type RetryLaterError } from '../../errors/handling.errors.js';
import type { EndedDelivery, QueueEvents } from '../../events/queue-events.interface.js';
import type { WorkMeter } from '../../fleet/work-meter.js';
import { firstLine, quoted } from '../../log.js';
import { type Failure, type FailureReason, summaryOf, toFailure } from '../../messages/failure.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { Delivery } from './delivery.js';
import type { Effect } from './settler.js';
import type { TopicHandling } from './topic-handling.js';
import type { Verdict } from './verdict.js';

/** Outcomes that are counted for views of the fleet. */
const COUNTED_ENDS = {
  ack: 'acked',
  retry: 'retried',
  'put-off': 'retried',
  dead: 'dead',
  release: undefined,
} as const;

type RetryOutcome = Extract<Outcome, { readonly kind: 'retry' }>;

/** Reasons whose message shows stored data, which the log leaves out: it has no payloads. */
const SHOWING_PAYLOAD: ReadonlySet<FailureReason> = new Set(['invalid', 'undecodable']);

/** Reports the outcomes of deliveries in events and in the log. */
export class DeliveryReporter {
  readonly #context: ConsumerContext;
  readonly #handler: string;
  readonly #order: TopicOrder | undefined;
  readonly #work: WorkMeter;

  /** @param order the topic's */
  constructor({ context, handler, work }: TopicHandling, order: TopicOrder | undefined) {
    this.#context = context;
    this.#handler = handler.name;
    this.#order = order;
    this.#work = work;
  }

  /** Reports deliveries that are handed over together now. */
  handed(deliveries: readonly Delivery[]): void {
    const { events, broker } = this.#context;
    const [first] = deliveries;
    if (!first) return;
    const now = broker.now(first.partition);
    this.#work.handed(now, deliveries);
    if (!events.wants('delivered')) return;
    for (const delivery of deliveries) {
      events.emit('delivered', { ...delivery.describe(), lateness: now - delivery.dueAt });
    }
  }

  /** Reports a confirmed outcome. */
  report(delivery: Delivery, verdict: Verdict, effect: Effect): void {
    const { events, broker } = this.#context;
    const counted = effect === 'settled' ? COUNTED_ENDS[verdict.outcome.kind] : undefined;
    if (counted) this.#work.ended(broker.now(delivery.partition), counted);
    // Nearly all deliveries are acknowledged, and usually nobody listens.
    if (verdict.outcome.kind === 'ack' && !events.wants('acked')) return;
    const ended: EndedDelivery = { ...delivery.describe(), duration: delivery.duration };
    if (effect === 'settled') this.#tell(ended, verdict);
    else if (events.wants(effect)) events.emit(effect, ended);
  }

  /** Reports the outcome of an at-most-once delivery, whose message is gone in any case. */
  reportGone(delivery: Delivery, verdict: Verdict): void {
    if (verdict.outcome.kind === 'ack') return this.report(delivery, verdict, 'settled');
    const { events, log } = this.#context;
    const error = errorOf(delivery, verdict);
    const { id, topic, partition } = delivery.describe();
    const said = isError(error) ? firstLine(summaryOf(toFailure('failed', error))) : describe(error);
    log.error(
      `Message ${quoted(id)} of topic '${topic}' is lost in ${this.#handler}, since it was delivered at most once: ${said}`,
    );
    events.emit('errors', { source: 'handler', topic, partition, id, error });
  }

  /**
   * Reports a settle that came too late.
   *
   * @param isAnswered whether a caller waits for the answer; it may know the reason, for example that this repeats an earlier settle
   */
  reportStale(delivery: Delivery, isAnswered: boolean): void {
    const { events, log } = this.#context;
    const { topic, index: partition } = delivery.partition;
    if (events.wants('stale')) events.emit('stale', delivery.describe());
    if (isAnswered) return;
    log.warn(
      `Late settle of message ${quoted(delivery.id)} (topic '${topic}', partition ${partition}, attempt ${delivery.attempt}) had no ` +
        `effect: its lease had ended and the message belongs to another delivery.`,
    );
    events.emit('errors', { source: 'stale', topic, partition, error: new DeliveryAbortedError('LEASE_LOST') });
  }

  #tell(ended: EndedDelivery, { outcome, error, attemptsLeft }: Verdict): void {
    const { events } = this.#context;
    switch (outcome.kind) {
      case 'ack':
        return events.emit('acked', ended);
      case 'release':
        if (events.wants('released')) events.emit('released', ended);
        return undefined;
      case 'retry':
        this.#logRetry(ended, outcome, attemptsLeft === 1);
        return this.#tellRetried({ ...ended, delay: outcome.delay, error });
      case 'put-off':
        this.#logPutOff(ended, outcome.delay, error);
        return this.#tellRetried({ ...ended, delay: outcome.delay, error });
      case 'dead':
        return this.#tellDead({ ...ended, failure: outcome.failure, blocksKey: this.#order === 'block' });
    }
  }

  #tellRetried(retried: QueueEvents['retried']): void {
    const { events } = this.#context;
    if (events.wants('retried')) events.emit('retried', retried);
  }

  #tellDead(dead: QueueEvents['dead']): void {
    const { log, events } = this.#context;
    const { id, key, topic, failure, blocksKey } = dead;
    const said = describeFailure(failure);
    const consequence = blocksKey ? `. The messages of key ${quoted(key)} wait until it is requeued or removed` : '';
    log.error(
      `Message ${quoted(id)} of topic '${topic}' is dead (${failure.reason}) in ${this.#handler}: ${said}${consequence}`,
    );
    if (events.wants('dead')) events.emit('dead', dead);
  }

  /** Logs a retry. The last one is worth a warning, since a dead letter may follow; nobody reads the earlier ones in production. */
  #logRetry(ended: EndedDelivery, { delay, failure }: RetryOutcome, isLast: boolean): void {
    const { log } = this.#context;
    const text = `${this.#nameOf(ended)} failed and is repeated in ${delay} ms`;
    if (isLast) log.warn(`${text}, for the last time: ${describeFailure(failure)}`);
    else log.debug?.(`${text}: ${describeFailure(failure)}`);
  }

  #logPutOff(ended: EndedDelivery, delay: number, error: unknown): void {
    const { log } = this.#context;
    const text = `${this.#nameOf(ended)} was put off by ${delay} ms`;
    const { problem } = error as RetryLaterError;
    if (problem === undefined) log.debug?.(text);
    else log.warn(`${text}, since the delay that its handler asked for cannot be read: ${problem}`);
  }

  #nameOf({ id, topic, attempt }: EndedDelivery): string {
    return `Attempt ${attempt} of message ${quoted(id)} of topic '${topic}' in ${this.#handler}`;
  }
}

/** Returns why a delivery has not succeeded: its handler's error, the problem found before the call, or the reason of its abort. */
function errorOf(delivery: Delivery, { error, outcome }: Verdict): unknown {
  if (error !== undefined) return error;
  if (!('failure' in outcome)) return delivery.signal.reason as unknown;
  const { name, message } = outcome.failure;
  return Object.assign(new Error(message), { name });
}

/** Returns a text such as `TypeError: the message`. */
function describeFailure(failure: Failure): string {
  return SHOWING_PAYLOAD.has(failure.reason) ? failure.name : firstLine(summaryOf(failure));
}
