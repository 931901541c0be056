import type { Outcome, SettleStatus } from '../broker/broker.interface.js';
import { firstLine, quoted } from '../log.js';
import type { EndedDelivery, QueueEvents } from '../events/queue-events.interface.js';
import type { Failure, FailureReason } from '../messages/failure.js';
import type { ConsumerContext } from './consumer-context.js';
import type { Delivery } from './delivery.js';
import type { Verdict } from './verdict.js';

/** What a settle has led to; one that came too late is reported by the settler. */
export type Effect = Exclude<SettleStatus, 'stale'>;

/** Told once an outcome is confirmed. */
export type OnSettled = (effect: Effect) => void;

export interface DeliveryReporterOptions {
  readonly context: ConsumerContext;
  /** Name of the handler, for the log. */
  readonly handler: string;
  /** Told when a message has become a dead letter. */
  readonly onDead: (delivery: Delivery, outcome: DeadOutcome) => void;
}

/** What makes a dead letter. */
export type DeadOutcome = Extract<Outcome, { readonly kind: 'dead' }>;

type RetryOutcome = Extract<Outcome, { readonly kind: 'retry' }>;

/** Reasons whose message shows what was stored; the log has no payloads. */
const SHOWING_PAYLOAD: ReadonlySet<FailureReason> = new Set(['invalid', 'undecodable']);

/** Tells what became of deliveries, in events and in the log, once Redis has confirmed it. */
export class DeliveryReporter {
  readonly #options: DeliveryReporterOptions;

  constructor(options: DeliveryReporterOptions) {
    this.#options = options;
  }

  /** To be called when the verdict is there: from then on the handler's time does not count. */
  report(delivery: Delivery, verdict: Verdict): OnSettled | undefined {
    const { clock, events } = this.#options.context;
    // Nearly all deliveries are acknowledged, and most of the time nobody listens.
    if (verdict.outcome.kind === 'ack' && !events.wants('acked')) return undefined;
    const { startedAt } = delivery;
    const duration = startedAt === undefined ? 0 : clock.now() - startedAt;
    return (effect) => {
      const ended: EndedDelivery = { ...delivery.describe(), duration };
      if (effect === 'settled') this.#tell(delivery, ended, verdict);
      else if (events.wants(effect)) events.emit(effect, ended);
    };
  }

  #tell(delivery: Delivery, ended: EndedDelivery, { outcome, error, attemptsLeft }: Verdict): void {
    const { context } = this.#options;
    const { events } = context;
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
        context.log.debug?.(`${this.#nameOf(ended)} was put off by ${outcome.delay} ms`);
        return this.#tellRetried({ ...ended, delay: outcome.delay, error });
      case 'dead':
        this.#tellDead({ ...ended, failure: outcome.failure });
        return this.#options.onDead(delivery, outcome);
    }
  }

  #tellRetried(retried: QueueEvents['retried']): void {
    const { events } = this.#options.context;
    if (events.wants('retried')) events.emit('retried', retried);
  }

  #tellDead(dead: QueueEvents['dead']): void {
    const { context, handler } = this.#options;
    const { id, topic, failure } = dead;
    const said = describeFailure(failure);
    context.log.error(`Message ${quoted(id)} of topic '${topic}' is dead (${failure.reason}) in ${handler}: ${said}`);
    if (context.events.wants('dead')) context.events.emit('dead', dead);
  }

  /** The last retry is worth a look, since a dead letter may follow; in production nobody looks at those before it. */
  #logRetry(ended: EndedDelivery, { delay, failure }: RetryOutcome, isLast: boolean): void {
    const { log } = this.#options.context;
    const text = `${this.#nameOf(ended)} failed and is repeated in ${delay} ms`;
    if (isLast) log.warn(`${text}, for the last time: ${describeFailure(failure)}`);
    else log.debug?.(`${text}: ${describeFailure(failure)}`);
  }

  #nameOf({ id, topic, attempt }: EndedDelivery): string {
    return `Attempt ${attempt} of message ${quoted(id)} of topic '${topic}' in ${this.#options.handler}`;
  }
}

/** Such as `TypeError: the message`. */
function describeFailure({ reason, name, message }: Failure): string {
  return SHOWING_PAYLOAD.has(reason) ? name : `${name}: ${firstLine(message)}`;
}
