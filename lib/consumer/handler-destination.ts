import { HandlerTimeoutError } from '../errors/handling.errors.js';
import { resultsOf } from '../messages/handler-results.js';
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
  /** One result for each message, in their order: fulfilled is an ack. `undefined`: all of them are fulfilled. */
  readonly results: Promise<Results | undefined>;
  /** Whoever has the messages may be at work on them until then; `undefined`: no longer than until the results are there. */
  readonly ended: Promise<unknown> | undefined;
}

type Results = readonly PromiseSettledResult<unknown>[];

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
    const { clock } = this.#context;
    const startedAt = clock.now();
    let limit = Infinity;
    for (const { delivery, timeout = Infinity } of checked) {
      delivery.startedAt = startedAt;
      limit = Math.min(limit, timeout);
    }
    const results = this.#call(checked);
    if (limit === Infinity) return { results, ended: undefined };
    // At the time limit the call has failed, whether or not the handler heeds its signals.
    const inTime = within(clock, startedAt + limit - clock.now(), results, { error: () => abortAll(checked, limit) });
    return { results: inTime.catch((error: unknown) => allFailed(checked, error)), ended: results };
  }

  #announce(checked: readonly CheckedDelivery[]): void {
    const { broker, events } = this.#context;
    if (!events.wants('delivered')) return;
    const now = broker.now();
    for (const { delivery } of checked) {
      events.emit('delivered', { ...delivery.describe(), lateness: now - delivery.dueAt });
    }
  }

  /** Never rejects. */
  async #call(checked: readonly CheckedDelivery[]): Promise<Results | undefined> {
    try {
      const resolved = await this.#handler.handle(checked.map(({ message }) => message));
      return this.#handler.batch === undefined ? undefined : resultsOf(resolved, checked.length);
    } catch (error) {
      return allFailed(checked, error);
    }
  }
}

function abortAll(checked: readonly CheckedDelivery[], limit: number): HandlerTimeoutError {
  const error = new HandlerTimeoutError(limit);
  for (const { delivery } of checked) delivery.abort(error);
  return error;
}

function allFailed(checked: readonly CheckedDelivery[], reason: unknown): Results {
  return checked.map(() => ({ status: 'rejected', reason }));
}
