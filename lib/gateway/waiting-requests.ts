import type { IncomingMessage } from 'node:http';
import { whenGone } from '../http/carrier.js';
import { refusal } from './problem.js';

/** The requests that wait for messages now. */
export class WaitingRequests {
  readonly #max: number;
  #waiting = 0;

  /** @param max most requests at once */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Waits for a client, until it goes.
   *
   * @param work ends when its signal aborts
   * @throws Refusal if too many wait already
   */
  async wait<T>(request: IncomingMessage, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#waiting >= this.#max) {
      throw refusal(
        'TOO_MANY_WAITING',
        `${this.#max} requests wait for messages already. Wait a second and ask again.`,
      );
    }
    const gone = new AbortController();
    const forget = whenGone(request, () => gone.abort());
    this.#waiting++;
    try {
      return await work(gone.signal);
    } finally {
      this.#waiting--;
      forget();
    }
  }
}
