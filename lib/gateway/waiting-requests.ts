import type { ServerResponse } from 'node:http';
import { refusal, shuttingDown } from './problem.js';

/** The requests that wait for messages now. */
export class WaitingRequests {
  readonly #max: number;
  readonly #open = new Set<AbortController>();
  #isClosed = false;

  /** @param max most of them at once */
  constructor(max: number) {
    this.#max = max;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Waits for somebody, until they go or this is closed.
   *
   * @throws Refusal if too many wait already, or this is closed
   */
  async wait<T>(response: ServerResponse, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw shuttingDown();
    if (this.#open.size >= this.#max) {
      throw refusal(
        'TOO_MANY_WAITING',
        `${this.#max} requests wait for messages already. Wait a second and ask again.`,
      );
    }
    const ends = new AbortController();
    const end = (): void => ends.abort();
    this.#open.add(ends);
    response.once('close', end);
    if (isGone(response)) end();
    try {
      return await work(ends.signal);
    } finally {
      response.off('close', end);
      this.#open.delete(ends);
    }
  }

  /** Answers all of them; nobody waits any more. */
  close(): void {
    this.#isClosed = true;
    for (const ends of this.#open) ends.abort();
  }
}

/** Whether nobody is there any more to read the answer. */
export function isGone(response: ServerResponse): boolean {
  return response.destroyed || response.socket?.destroyed === true;
}
