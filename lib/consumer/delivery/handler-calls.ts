import type { DelayQueueError } from '../../errors/delay-queue.error.js';
import { DeliveryAbortedError, HandlerTimeoutError } from '../../errors/handling.errors.js';
import { resultsOf } from '../../messages/handler-results.js';
import { within } from '../../time/deadline.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { CheckedDelivery } from './delivery-check.js';
import type { Destination, Handover, Results } from './topic-handling.js';
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

  hand(checked: readonly CheckedDelivery[]): Promise<Handover> {
    const { clock } = this.#context;
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
      error: () => abortAll(checked, new HandlerTimeoutError(limit)),
    });
    return inTime.catch((error: unknown) => ({ results: allFailed(checked, error), ended: endOf(call) }));
  }

  /**
   * A delivery ends with its method: if code around the method fails earlier, so has the attempt; if it succeeds earlier, the message is
   * not acknowledged until the method ends. Never rejects.
   */
  #call(checked: readonly CheckedDelivery[]): Promise<Handover> {
    const running: Promise<void>[] = [];
    return this.#handle(checked, running).then(
      (resolved) => this.#resolved(checked, resolved, running),
      (error: unknown) => failed(checked, error, running),
    );
  }

  #handle(checked: readonly CheckedDelivery[], running: Promise<void>[]): Promise<unknown> {
    const messages = checked.map(({ message }) => message);
    try {
      return Promise.resolve(this.#handler.handle(messages, (ended) => running.push(ended)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #resolved(
    checked: readonly CheckedDelivery[],
    resolved: unknown,
    running: readonly Promise<void>[],
  ): Handover | Promise<Handover> {
    let handover = FULFILLED;
    try {
      if (this.#handler.batch !== undefined)
        handover = { results: resultsOf(resolved, checked.length), ended: undefined };
    } catch (error) {
      return failed(checked, error, running);
    }
    return running.length === 0 ? handover : Promise.all(running).then(() => handover);
  }
}

function failed(checked: readonly CheckedDelivery[], error: unknown, running: readonly Promise<void>[]): Handover {
  const results = allFailed(checked, error);
  if (running.length === 0) return { results, ended: undefined };
  abortAll(checked, new DeliveryAbortedError('GIVEN_UP'));
  return { results, ended: Promise.all(running) };
}

/** Resolves when nothing of a call runs any more. */
async function endOf(call: Promise<Handover>): Promise<void> {
  const { ended } = await call;
  await ended;
}

function abortAll<E extends DelayQueueError>(checked: readonly CheckedDelivery[], error: E): E {
  for (const { delivery } of checked) delivery.abort(error);
  return error;
}

function allFailed(checked: readonly CheckedDelivery[], reason: unknown): Results {
  return checked.map(() => ({ status: 'rejected', reason }));
}
