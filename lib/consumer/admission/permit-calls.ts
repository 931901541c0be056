import type { PermitReply, PermitRequest } from '../../store/deliveries/permits.js';
import { repeatUntilServed } from '../../store/calls/serve.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { within } from '../../time/deadline.js';
import type { ConsumerContext } from '../consumer-context.js';
import { ExpectedTime } from './expected-time.js';

/** Time after which a call is repeated, in milliseconds; the repeat gets the answer to the first one. */
const TIMEOUT = 1000;

/** Multiple of the usual duration after which a call is late: no claim should keep slots for its answer any longer. */
const LATE_AFTER = 3;

/** Bounds of that time, in milliseconds. */
const LEAST_LATE = 100;
const MOST_LATE = 2000;

/** Requests permits, one call at a time, each repeated until it is answered, so that its permits are known. */
export class PermitCalls {
  readonly #context: ConsumerContext;
  readonly #topic: string;
  readonly #onLate: () => void;
  readonly #givenUp = new AbortController();
  /** Start of the call that waits for its answer. */
  #unansweredSince: number | undefined;
  /** Expected duration of calls, in milliseconds. */
  readonly #way = new ExpectedTime();

  /** @param onLate called for each call whose answer is late */
  constructor(context: ConsumerContext, topic: string, onLate: () => void) {
    this.#context = context;
    this.#topic = topic;
    this.#onLate = onLate;
  }

  /** Whether a call takes so long that no claim should keep slots for its answer. */
  get isLate(): boolean {
    const { clock } = this.#context;
    return this.#unansweredSince !== undefined && clock.now() - this.#unansweredSince >= this.#late;
  }

  get #late(): number {
    return Math.min(MOST_LATE, Math.max(LEAST_LATE, LATE_AFTER * this.#way.value));
  }

  /** Stops repeating the call that is not answered yet. */
  giveUp(): void {
    this.#givenUp.abort();
  }

  /** @throws the error that it was refused with, or an error if it was given up */
  async permit(request: PermitRequest): Promise<PermitReply> {
    const { broker, clock, events } = this.#context;
    const topic = this.#topic;
    const error = (): Error => new BrokerUnavailableError(`Permits of topic '${topic}' were not answered`);
    const sentAt = clock.now();
    this.#unansweredSince = sentAt;
    const late = clock.setTimer(this.#late, this.#onLate);
    const pending = new Set<Promise<PermitReply>>();
    const call = (): Promise<PermitReply> => {
      const one = broker.deliveries.permit(topic, request).finally(() => pending.delete(one));
      // If Redis is far away, the answer to an earlier call arrives first.
      return within(clock, TIMEOUT, Promise.race(pending.add(one)), { error });
    };
    try {
      const reply = await repeatUntilServed(call, {
        clock,
        signal: this.#givenUp.signal,
        worthRepeating: ({ refused }) => !refused && !this.#givenUp.signal.aborted,
        onFailure: (failure) => events.emit('errors', { source: 'limit', topic, error: failure }),
      });
      this.#way.measured(sentAt, clock.now());
      return reply;
    } finally {
      this.#unansweredSince = undefined;
      late.cancel();
    }
  }
}
