import { HandlerTimeoutError } from '../errors/handler-timeout.error.js';
import { resultsOf } from '../messages/batch-results.js';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import { within } from '../time/deadline.js';
import type { ConsumerContext } from './consumer-context.js';
import type { CheckedDelivery } from './delivery-check.js';
import type { MessageHandler } from './message-handler.interface.js';

/** Where the messages of a partition go. It knows nothing of claims, leases and settling, and they know nothing of it. */
export interface Destination {
  /** @param checked what is handed over together, one at least */
  hand(checked: readonly CheckedDelivery[]): Handover;
}

/** What comes of messages that were handed over. Neither promise rejects. */
export interface Handover {
  /** One result for each message, in their order: fulfilled is an ack. */
  readonly results: Promise<readonly PromiseSettledResult<unknown>[]>;
  /** Whoever has the messages may be at work on them until then, even if the results were there before. */
  readonly ended: Promise<void>;
}

const FULFILLED: PromiseFulfilledResult<unknown> = { status: 'fulfilled', value: undefined };

/** Hands messages to a handler of the application, and fails them when its time is up. */
export class HandlerDestination implements Destination {
  readonly #context: ConsumerContext;
  readonly #handler: MessageHandler;

  constructor(context: ConsumerContext, handler: MessageHandler) {
    this.#context = context;
    this.#handler = handler;
  }

  hand(checked: readonly CheckedDelivery[]): Handover {
    this.#announce(checked);
    const startedAt = this.#context.clock.now();
    for (const { delivery } of checked) delivery.startedAt = startedAt;
    const handling = this.#call(checked.map(({ message }) => message));
    return { results: this.#results(checked, startedAt, handling), ended: handling.then(ignore, ignore) };
  }

  #announce(checked: readonly CheckedDelivery[]): void {
    const { broker, events } = this.#context;
    if (!events.wants('delivered')) return;
    const now = broker.now();
    for (const { delivery } of checked) {
      events.emit('delivered', { ...delivery.describe(), lateness: now - delivery.dueAt });
    }
  }

  /** What the handler throws before it returns rejects, too. */
  async #call(messages: readonly DelayedMessage[]): Promise<unknown> {
    return this.#handler.handle(messages);
  }

  /** Never rejects. */
  async #results(
    checked: readonly CheckedDelivery[],
    startedAt: number,
    handling: Promise<unknown>,
  ): Promise<readonly PromiseSettledResult<unknown>[]> {
    try {
      const resolved = await this.#inTime(checked, startedAt, handling);
      const results = this.#handler.batch === undefined ? undefined : resultsOf(resolved, checked.length);
      return results ?? checked.map(() => FULFILLED);
    } catch (reason) {
      return checked.map(() => ({ status: 'rejected', reason }));
    }
  }

  /** At the time limit the call has failed, whether or not the handler heeds its signals. */
  #inTime(checked: readonly CheckedDelivery[], startedAt: number, handling: Promise<unknown>): Promise<unknown> {
    let limit = Infinity;
    for (const { timeout = Infinity } of checked) limit = Math.min(limit, timeout);
    if (limit === Infinity) return handling;
    const { clock } = this.#context;
    return within(clock, startedAt + limit - clock.now(), handling, {
      error: () => {
        const error = new HandlerTimeoutError(limit);
        for (const { delivery } of checked) delivery.abort(error);
        return error;
      },
    });
  }
}

function ignore(): void {}
