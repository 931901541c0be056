import type { Timer } from '../time/clock.js';
import { HandlerTimeoutError } from '../errors/handling.errors.js';
import { toFailedAttempt } from '../messages/failed-attempt.js';
import { resultsOf } from '../messages/batch-results.js';
import type { ConsumerContext } from './consumer-context.js';
import type { CheckedDelivery } from './delivery-check.js';
import type { Delivery } from './delivery.js';
import type { MessageHandler } from './message-handler.interface.js';
import { outcomeOf } from './retry-policy.js';
import { ACKED, type Verdict } from './verdict.js';

/** What all calls of a handler have in common. */
export interface HandlerCallOptions {
  readonly context: ConsumerContext;
  readonly handler: MessageHandler;
  /** Told what became of each delivery; the first verdict on a delivery counts. */
  readonly settle: (delivery: Delivery, verdict: Verdict) => void;
  /** Told of each delivery when the handler has ended. */
  readonly onEnd: (delivery: Delivery) => void;
}

/** One call of a handler, and what follows from it for each of its messages. */
export class HandlerCall {
  readonly #options: HandlerCallOptions;
  readonly #checked: readonly CheckedDelivery[];

  /** @param checked the deliveries whose messages it is called with, one at least */
  constructor(options: HandlerCallOptions, checked: readonly CheckedDelivery[]) {
    this.#options = options;
    this.#checked = checked;
  }

  /** Resolves when the handler has ended; never rejects. */
  async run(): Promise<void> {
    const { context, handler, onEnd } = this.#options;
    this.#announce();
    const startedAt = context.clock.now();
    for (const { delivery } of this.#checked) delivery.startedAt = startedAt;
    const timer = this.#limitTime();
    try {
      const resolved = await handler.handle(this.#checked.map(({ message }) => message));
      this.#succeed(resolved);
    } catch (error) {
      this.#fail(error);
    } finally {
      timer?.cancel();
      for (const { delivery } of this.#checked) onEnd(delivery);
    }
  }

  #announce(): void {
    const { broker, events } = this.#options.context;
    if (!events.wants('delivered')) return;
    const now = broker.now();
    for (const { delivery } of this.#checked) {
      events.emit('delivered', { ...delivery.describe(), lateness: now - delivery.dueAt });
    }
  }

  /** At the time limit the call has failed, whether or not the handler heeds its signals. */
  #limitTime(): Timer | undefined {
    let limit = Infinity;
    for (const { timeout = Infinity } of this.#checked) limit = Math.min(limit, timeout);
    if (limit === Infinity) return undefined;
    return this.#options.context.clock.setTimer(limit, () => {
      const error = new HandlerTimeoutError(limit);
      for (const { delivery } of this.#checked) delivery.abort(error);
      this.#fail(error);
    });
  }

  /** @throws InvalidArgumentError where the results do not fit the messages; nothing is settled then */
  #succeed(resolved: unknown): void {
    const { handler, settle } = this.#options;
    const results = handler.batch === undefined ? undefined : resultsOf(resolved, this.#checked.length);
    this.#checked.forEach((checked, i) => {
      const result = results?.[i];
      if (result?.status === 'rejected') settle(checked.delivery, this.#failure(checked, result.reason));
      else settle(checked.delivery, ACKED);
    });
  }

  #fail(error: unknown): void {
    for (const checked of this.#checked) {
      // A backoff function is asked once for each failed attempt.
      if (!checked.delivery.settled) this.#options.settle(checked.delivery, this.#failure(checked, error));
    }
  }

  #failure({ delivery, message, backoff }: CheckedDelivery, error: unknown): Verdict {
    const { clock, broker } = this.#options.context;
    const outcome = outcomeOf(error, message, backoff);
    if (!('failure' in outcome)) return { error, outcome };
    const duration = delivery.startedAt === undefined ? 0 : clock.now() - delivery.startedAt;
    const failedAttempt = toFailedAttempt(outcome.failure, { at: broker.now(), attempt: message.attempt, duration });
    const attemptsLeft = message.maxAttempts - message.attempt;
    return { error, attemptsLeft, outcome: { ...outcome, failedAttempt } };
  }
}
