import { BrokerUnavailableError } from '../../../errors/operation.errors.js';
import type { Clock } from '../../../time/clock.js';
import { within } from '../../../time/deadline.js';
import { NotTold, textOf, withoutSecrets } from '../connection/redis-errors.js';
import { isReply, isStateRefusal } from '../../../store/redis-error-codes.js';

/** Asks each question once, however many checks want the answer, and waits for it no longer than its patience. */
export class Questions {
  readonly #clock: Clock;
  readonly #patience: number;
  readonly #asked = new Map<string, Promise<unknown>>();

  /** @param patience milliseconds */
  constructor(clock: Clock, patience: number) {
    this.#clock = clock;
    this.#patience = patience;
  }

  /**
   * @param what names the question, in the message too if there is no answer
   * @param question gets a signal that aborts once the answer is no longer awaited
   * @throws NotTold
   */
  async ask<T>(what: string, question: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let answer = this.#asked.get(what) as Promise<T> | undefined;
    if (!answer) this.#asked.set(what, (answer = this.#inTime(what, question)));
    return answer;
  }

  async #inTime<T>(what: string, question: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const end = new AbortController();
    try {
      return await within(this.#clock, this.#patience, question(end.signal));
    } catch (cause) {
      if (cause instanceof NotTold) throw cause;
      const root = withoutSecrets(cause instanceof BrokerUnavailableError ? cause.cause : cause);
      const text = textOf(root);
      throw new NotTold(`${what}: ${text}`, { refused: isReply(root) && !isStateRefusal(text), cause: root });
    } finally {
      end.abort();
    }
  }
}
