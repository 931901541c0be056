import { BrokerUnavailableError } from '../../errors/operation.errors.js';

interface Waiting<I, R> {
  readonly item: I;
  readonly resolve: (answer: R) => void;
  readonly reject: (error: unknown) => void;
}

export interface GatheredCallsOptions<I, T, R> {
  /** Answers in the order of the items. */
  readonly ask: (items: readonly I[], terms: T) => Promise<readonly R[]>;
  /** The largest number of items of one call. */
  readonly most: (terms: T) => number;
}

/** Makes one call of all requests within a turn of the event loop: a call costs more than the work of Redis in a short one. */
export class GatheredCalls<I, T, R> {
  readonly #options: GatheredCallsOptions<I, T, R>;
  #waiting = new Map<T, Waiting<I, R>[]>();

  constructor(options: GatheredCallsOptions<I, T, R>) {
    this.#options = options;
  }

  /** @param terms of the request; items with the same terms, the same object, share a call */
  async ask(item: I, terms: T): Promise<R> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) process.nextTick(() => this.#send());
      const others = this.#waiting.get(terms);
      if (others) others.push({ item, resolve, reject });
      else this.#waiting.set(terms, [{ item, resolve, reject }]);
    });
  }

  #send(): void {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    for (const [terms, all] of waiting) {
      const most = this.#options.most(terms);
      for (let begin = 0; begin < all.length; begin += most) void this.#call(all.slice(begin, begin + most), terms);
    }
  }

  /** Never rejects. */
  async #call(some: readonly Waiting<I, R>[], terms: T): Promise<void> {
    const items = some.map(({ item }) => item);
    try {
      const answers = await this.#options.ask(items, terms);
      for (const [i, { resolve }] of some.entries()) resolve(answers[i] as R);
    } catch (error) {
      const isAway = error instanceof BrokerUnavailableError && error.transient;
      if (some.length === 1 || isAway) for (const { reject } of some) reject(error);
      // One of them may be damaged, which must not hide the others.
      else for (const one of some) void this.#call([one], terms);
    }
  }
}
