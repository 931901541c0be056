import type { DelayedMessage } from 'nestjs-delay-queue';
import { SOON, within } from '../waiting.js';

/** The arguments of a handler call. */
export interface Call<T> {
  readonly payload: T;
  readonly message: DelayedMessage<T>;
  /** Local clock, epoch milliseconds with fractions. */
  readonly at: number;
}

/** Base of the handlers in these tests: records each call, and answers as the test decides. */
export abstract class Recorder<T = unknown> {
  readonly calls: Call<T>[] = [];
  /** What the handler does; by default it acknowledges. */
  respond: (payload: T, message: DelayedMessage<T>) => unknown = () => undefined;
  /** Running handler calls. */
  running = 0;
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  get ids(): string[] {
    return this.calls.map(({ message }) => message.id);
  }

  callsOf(id: string): Call<T>[] {
    return this.calls.filter(({ message }) => message.id === id);
  }

  /** Resolves with the first `count` calls, once there are that many. */
  async called(count = 1, timeout = SOON): Promise<Call<T>[]> {
    const reached = new Promise<void>((resolve) => {
      this.#waiting.push({ count, resolve });
      this.#notify();
    });
    await within(`${count} handler calls (so far ${this.calls.length})`, reached, timeout);
    return this.calls.slice(0, count);
  }

  /** The decorated method calls this. */
  protected async take(payload: T, message: DelayedMessage<T>): Promise<unknown> {
    this.calls.push({ payload, message, at: performance.timeOrigin + performance.now() });
    this.#notify();
    this.running++;
    try {
      return await this.respond(payload, message);
    } finally {
      this.running--;
    }
  }

  #notify(): void {
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      const reached = this.calls.length >= count;
      if (reached) resolve();
      return !reached;
    });
  }
}
