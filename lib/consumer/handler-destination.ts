import { HandlerTimeoutError } from '../errors/handling.errors.js';
import { resultsOf } from '../messages/handler-results.js';
import { within } from '../time/deadline.js';
import type { ConsumerContext } from './consumer-context.js';
import type { CheckedDelivery } from './delivery-check.js';
import type { MessageHandler } from './message-handler.interface.js';

/** Where the messages of a partition go. It knows nothing of claims, leases and settling, and they know nothing of it. */
export interface Destination {
  /**
   * Never rejects.
   *
   * @param checked what is handed over together, one at least
   */
  hand(checked: readonly CheckedDelivery[]): Promise<Handover>;
}

/** What has come of messages that were handed over. */
export interface Handover {
  /** One result for each message, in their order: fulfilled is an ack. `undefined`: all of them are fulfilled. */
  readonly results: Results | undefined;
  /**
   * Of each message whether somebody has taken it who settles it by its receipt, wherever that may be; the others go back, and nothing is
   * known of results. `undefined`: this process settles all of them.
   */
  readonly taken?: readonly boolean[];
  /** Whoever has the messages is still at work on them, and has ended then; never rejects. `undefined`: has ended. */
  readonly ended: Promise<unknown> | undefined;
}

type Results = readonly PromiseSettledResult<unknown>[];

/** The end of nearly all calls. */
const FULFILLED: Handover = { results: undefined, ended: undefined };

/** Hands messages to a handler of the application, and fails them when its time is up. */
export class HandlerDestination implements Destination {
  readonly #context: ConsumerContext;
  readonly #handler: MessageHandler;

  constructor(context: ConsumerContext, handler: MessageHandler) {
    this.#context = context;
    this.#handler = handler;
  }

  hand(checked: readonly CheckedDelivery[]): Promise<Handover> {
    const { clock } = this.#context;
    announce(this.#context, checked);
    const startedAt = clock.now();
    let limit = Infinity;
    for (const { delivery, timeout = Infinity } of checked) {
      delivery.startedAt = startedAt;
      limit = Math.min(limit, timeout);
    }
    const call = this.#call(checked);
    if (limit === Infinity) return call;
    // At the time limit the call has failed, whether or not the handler heeds its signals.
    const inTime = within(clock, startedAt + limit - clock.now(), call, {
      error: () => abortAll(checked, limit),
      holdsProcess: false,
    });
    return inTime.catch((error: unknown) => ({ results: allFailed(checked, error), ended: call }));
  }

  /** Never rejects. */
  async #call(checked: readonly CheckedDelivery[]): Promise<Handover> {
    try {
      const resolved = await this.#handler.handle(checked.map(({ message }) => message));
      if (this.#handler.batch === undefined) return FULFILLED;
      return { results: resultsOf(resolved, checked.length), ended: undefined };
    } catch (error) {
      return { results: allFailed(checked, error), ended: undefined };
    }
  }
}

/** Tells that deliveries are handed over, if somebody wants to know. */
export function announce({ broker, events }: ConsumerContext, checked: readonly CheckedDelivery[]): void {
  if (!events.wants('delivered')) return;
  for (const { delivery } of checked) {
    const lateness = broker.now(delivery.partition) - delivery.dueAt;
    events.emit('delivered', { ...delivery.describe(), lateness });
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
