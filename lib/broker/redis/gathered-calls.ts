import { BrokerUnavailableError } from '../../errors/operation.errors.js';

interface Waiting<I, R> {
  readonly item: I;
  readonly resolve: (answer: R | Promise<R>) => void;
}

/** Makes one call of all that is asked within a turn of the event loop: a call costs more than what Redis does in a short one. */
export class GatheredCalls<I, R> {
  readonly #ask: (items: readonly I[]) => Promise<readonly R[]>;
  readonly #most: number;
  #waiting: Waiting<I, R>[] = [];

  /**
   * @param ask answers in the order of the items
   * @param most the largest number of items of one call
   */
  constructor(ask: (items: readonly I[]) => Promise<readonly R[]>, most: number) {
    this.#ask = ask;
    this.#most = most;
  }

  async ask(item: I): Promise<R> {
    return new Promise((resolve) => {
      this.#waiting.push({ item, resolve });
      if (this.#waiting.length === 1) process.nextTick(() => this.#send());
    });
  }

  #send(): void {
    const [all, most] = [this.#waiting, this.#most];
    this.#waiting = [];
    for (let begin = 0; begin < all.length; begin += most) {
      const some = all.slice(begin, begin + most);
      const answers = this.#ask(some.map(({ item }) => item));
      for (const [i, { item, resolve }] of some.entries()) {
        resolve(
          answers.then(
            (told) => told[i] as R,
            async (error: unknown) => {
              const isAway = error instanceof BrokerUnavailableError && error.transient;
              if (some.length === 1 || isAway) throw error;
              // One of them may be damaged, which is not to hide the others.
              return this.#ask([item]).then(([own]) => own as R);
            },
          ),
        );
      }
    }
  }
}
