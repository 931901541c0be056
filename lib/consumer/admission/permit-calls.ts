import type { PermitReply, PermitRequest } from '../../store/deliveries/permits.js';
import { repeatUntilServed } from '../../store/calls/serve.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { within } from '../../time/deadline.js';
import type { ConsumerContext } from '../consumer-context.js';
import { ExpectedTime } from './expected-time.js';

/** After so long a call is made again, in milliseconds; it gets the answer to the first one. */
const TIMEOUT = 1000;

/** A call that takes so many times as long as others is late: nobody should keep slots for its answer any more. */
const LATE_AFTER = 3;

/** The least and the most of that, in milliseconds. */
const LEAST_LATE = 100;
const MOST_LATE = 2000;

/** Calls for permits, one at a time, each made again until it is answered, so that what it has permitted is known. */
export class PermitCalls {
  readonly #context: ConsumerContext;
  readonly #topic: string;
  readonly #onLate: () => void;
  readonly #givenUp = new AbortController();
  /** When the call that waits for its answer was made. */
  #unansweredSince: number | undefined;
  /** How long calls take, in milliseconds. */
  readonly #way = new ExpectedTime();

  /** @param onLate told of each call whose answer is late */
  constructor(context: ConsumerContext, topic: string, onLate: () => void) {
    this.#context = context;
    this.#topic = topic;
    this.#onLate = onLate;
  }

  /** Whether a call takes so long that nobody should keep slots for its answer. */
  get isLate(): boolean {
    const { clock } = this.#context;
    return this.#unansweredSince !== undefined && clock.now() - this.#unansweredSince >= this.#late;
  }

  get #late(): number {
    return Math.min(MOST_LATE, Math.max(LEAST_LATE, LATE_AFTER * this.#way.value));
  }

  /** What is not answered yet is not made again. */
  giveUp(): void {
    this.#givenUp.abort();
  }

  /** @throws what it was refused with, or that it was given up */
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
      // Where Redis is far away, the answer to an earlier one is there first.
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
