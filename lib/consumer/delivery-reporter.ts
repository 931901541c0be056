import type { SettleStatus } from '../broker/broker.interface.js';
import type { EndedDelivery } from '../events/queue-events.interface.js';
import type { Failure } from '../message/failure.js';
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
  readonly onDead: () => void;
}

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
      if (effect === 'settled') this.#tell(ended, verdict);
      else if (events.wants(effect)) events.emit(effect, ended);
    };
  }

  #tell(ended: EndedDelivery, { outcome, error }: Verdict): void {
    const { events } = this.#options.context;
    switch (outcome.kind) {
      case 'ack':
        return events.emit('acked', ended);
      case 'release':
        if (events.wants('released')) events.emit('released', ended);
        return undefined;
      case 'retry':
      case 'put-off':
        if (events.wants('retried')) events.emit('retried', { ...ended, delay: outcome.delay, error });
        return undefined;
      case 'dead':
        return this.#tellDead({ ...ended, failure: outcome.failure });
    }
  }

  #tellDead(dead: EndedDelivery & { readonly failure: Failure }): void {
    const { context, handler, onDead } = this.#options;
    const { reason, message } = dead.failure;
    context.log.error(`Message '${dead.id}' of topic '${dead.topic}' is dead (${reason}) in ${handler}: ${message}`);
    if (context.events.wants('dead')) context.events.emit('dead', dead);
    onDead();
  }
}
