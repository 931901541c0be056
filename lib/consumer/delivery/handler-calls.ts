import type { DelayQueueError } from '../../errors/delay-queue.error.js';
import { DeliveryAbortedError, HandlerTimeoutError } from '../../errors/handling.errors.js';
import { resultsOf } from '../../messages/handler-results.js';
import { within } from '../../time/deadline.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { CheckedDelivery } from './delivery.js';
import type { Destination, Handed, Handover, Results } from './topic-handling.js';
import type { MessageHandler } from '../message-handler.interface.js';

/** Result of nearly all calls. */
const FULFILLED: Handover = { results: undefined, ended: undefined };

/** Hands messages to a handler of the application, and fails them when the handler's time is up. */
export class HandlerCalls implements Destination {
  readonly isOpen = true;
  readonly #context: ConsumerContext;
  readonly #handler: MessageHandler;

  constructor(context: ConsumerContext, handler: MessageHandler) {
    this.#context = context;
    this.#handler = handler;
  }

  hand(deliveries: readonly CheckedDelivery[], handed: Handed): Promise<void> {
    const { clock } = this.#context;
    const startedAt = clock.now();
    let limit = Infinity;
    for (const delivery of deliveries) {
      delivery.startedAt = startedAt;
      limit = Math.min(limit, delivery.timeout ?? Infinity);
    }
    if (limit === Infinity) return this.#call(deliveries, handed);
    const call = this.#call(deliveries, (handover) => handover);
    // At the time limit the call has failed, whether or not the handler heeds its signals.
    const inTime = within(clock, startedAt + limit - clock.now(), call, {
      error: () => abortAll(deliveries, new HandlerTimeoutError(limit)),
    });
    return inTime
      .catch((error: unknown) => ({ results: allFailed(deliveries, error), ended: endOf(call) }))
      .then(handed);
  }

  /**
   * A delivery ends with its method: if code around the method fails earlier, so has the attempt; if it succeeds earlier, the message is
   * not acknowledged until the method ends. Resolves with what `handed` returns; never rejects.
   */
  #call<T>(deliveries: readonly CheckedDelivery[], handed: (handover: Handover) => T): Promise<Awaited<T>> {
    const running: Promise<void>[] = [];
    return this.#handle(deliveries, running).then(
      (resolved) => {
        const handover = this.#resolved(deliveries, resolved, running);
        if (handover.ended || running.length === 0) return handed(handover);
        return Promise.all(running).then(() => handed(handover));
      },
      (error: unknown) => handed(failed(deliveries, error, running)),
    ) as Promise<Awaited<T>>;
  }

  #handle(deliveries: readonly CheckedDelivery[], running: Promise<void>[]): Promise<unknown> {
    const messages = deliveries.map(({ message }) => message);
    try {
      return Promise.resolve(this.#handler.handle(messages, (ended) => running.push(ended)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #resolved(deliveries: readonly CheckedDelivery[], resolved: unknown, running: readonly Promise<void>[]): Handover {
    if (this.#handler.batch === undefined) return FULFILLED;
    try {
      return { results: resultsOf(resolved, deliveries.length), ended: undefined };
    } catch (error) {
      return failed(deliveries, error, running);
    }
  }
}

function failed(deliveries: readonly CheckedDelivery[], error: unknown, running: readonly Promise<void>[]): Handover {
  const results = allFailed(deliveries, error);
  if (running.length === 0) return { results, ended: undefined };
  abortAll(deliveries, new DeliveryAbortedError('GIVEN_UP'));
  return { results, ended: Promise.all(running) };
}

/** Resolves when nothing of a call runs any more. */
async function endOf(call: Promise<Handover>): Promise<void> {
  const { ended } = await call;
  await ended;
}

function abortAll<E extends DelayQueueError>(deliveries: readonly CheckedDelivery[], error: E): E {
  for (const delivery of deliveries) delivery.abort(error);
  return error;
}

function allFailed(deliveries: readonly CheckedDelivery[], reason: unknown): Results {
  return deliveries.map(() => ({ status: 'rejected', reason }));
}
