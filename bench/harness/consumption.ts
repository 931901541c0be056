import type { ConsumeOptions, ConsumeResult } from '../client/roles/consume.js';
import type { ContenderName } from '../contenders/contender.js';
import type { Bench } from './bench.js';
import type { ClientProcess } from './client-process.js';

/** Processes that consume the same topics. */
export class Consumption {
  readonly #clients: readonly ClientProcess<'consume'>[];

  private constructor(clients: readonly ClientProcess<'consume'>[]) {
    this.#clients = clients;
  }

  /** Resolves once all processes consume. */
  static async start(
    bench: Bench,
    contender: ContenderName,
    options: ConsumeOptions,
    processes = 1,
  ): Promise<Consumption> {
    const clients = Array.from({ length: processes }, () => bench.start(contender, 'consume', options));
    await Promise.all(clients.map(({ ready }) => ready));
    return new Consumption(clients);
  }

  /**
   * Waits until this many messages were handled.
   *
   * @param timeLimit milliseconds, after which it no longer waits
   * @returns the result of each process
   */
  async finish(messages: number, timeLimit?: number): Promise<ConsumeResult[]> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => {
      if (timeLimit !== undefined) timer = setTimeout(resolve, timeLimit);
    });
    await Promise.race([this.reached(messages), tooLate]);
    clearTimeout(timer);
    return Promise.all(this.#clients.map((client) => client.finish()));
  }

  /** Resolves once this many messages were handled, with how many by then; rejects if a process failed. */
  async reached(messages: number): Promise<number> {
    const enough = new Promise<void>((resolve) => {
      const check = (): void => {
        if (this.#handled >= messages) resolve();
      };
      for (const client of this.#clients) client.onReport(check);
      check();
    });
    await Promise.race([enough, ...this.#clients.map(({ result }) => result)]);
    return this.#handled;
  }

  get #handled(): number {
    return this.#clients.reduce((sum, { handled }) => sum + handled, 0);
  }
}
