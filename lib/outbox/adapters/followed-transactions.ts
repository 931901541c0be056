import { AsyncLocalStorage } from 'node:async_hooks';
import type { OutboxTransaction, OutboxValue } from '../table/outbox-adapter.interface.js';

/**
 * Runs a statement on a transaction; resolves with its rows.
 *
 * @publicApi
 */
export type RunStatement<H> = (
  handle: H,
  sql: string,
  parameters: readonly OutboxValue[],
) => Promise<readonly object[]>;

/**
 * A transaction that is followed to its end.
 *
 * @publicApi
 */
export interface BegunTransaction {
  /** Call this when it has ended; only the first end counts. */
  end(state: 'committed' | 'rolled-back'): void;
}

/** A transaction whose begin and end its library has told of. */
class FollowedTransaction<H extends object> implements OutboxTransaction {
  readonly #run: RunStatement<H>;
  readonly #after: (() => void)[] = [];
  #state: OutboxTransaction['state'] = 'active';

  constructor(
    readonly handle: H,
    run: RunStatement<H>,
  ) {
    this.#run = run;
  }

  get state(): OutboxTransaction['state'] {
    return this.#state;
  }

  async query(sql: string, parameters: readonly OutboxValue[]): Promise<readonly object[]> {
    return this.#run(this.handle, sql, parameters);
  }

  afterCommit(run: () => void): void {
    if (this.#state === 'committed') run();
    else this.#after.push(run);
  }

  end(state: 'committed' | 'rolled-back'): void {
    if (this.#state !== 'active') return;
    this.#state = state;
    const after = this.#after.splice(0);
    if (state === 'committed') for (const run of after) run();
  }
}

/** Place that code runs in. */
interface Place<H extends object> {
  /** `undefined` until it has begun. */
  transaction: FollowedTransaction<H> | undefined;
  /** Whether all code that runs here was begun by the transaction's callback. */
  readonly isWithin: boolean;
}

const NOWHERE = Object.freeze({ transaction: undefined, isWithin: false });

/**
 * Knows which transaction code runs in, for libraries that do not: they hand a transaction to a callback, or return it, and call nothing else.
 * An adapter of your own can use it, too.
 *
 * @typeParam H transaction as the library hands it out
 *
 * @publicApi
 */
export class FollowedTransactions<H extends object> {
  readonly #run: RunStatement<H>;
  readonly #places = new AsyncLocalStorage<Place<H>>();
  readonly #known = new WeakMap<object, FollowedTransaction<H>>();

  /** @param run runs a statement on a transaction; resolves with its rows */
  constructor(run: RunStatement<H>) {
    this.#run = run;
  }

  /** Returns the transaction that this code runs in, also one that has ended; `undefined` if there was none. */
  current(): OutboxTransaction | undefined {
    const place = this.#places.getStore();
    // Code that has begun a transaction by hand goes on when that has ended.
    return place?.isWithin || place?.transaction?.state === 'active' ? place.transaction : undefined;
  }

  /** Returns the transaction of a handle that was followed; `undefined` for anything else. */
  of(handle: unknown): OutboxTransaction | undefined {
    return typeof handle === 'object' || typeof handle === 'function' ? this.#known.get(handle as object) : undefined;
  }

  /** Runs a function so that what it enters is left again when it returns. */
  apart<T>(run: () => T): T {
    return this.#places.run(this.#places.getStore() ?? NOWHERE, run);
  }

  /** Follows a transaction. Its library has to tell of its end. */
  begun(handle: H): BegunTransaction {
    const transaction = new FollowedTransaction(handle, this.#run);
    this.#known.set(handle, transaction);
    return transaction;
  }

  /** Runs a callback that a transaction was handed to: all that it begins, now or later, is within. */
  within<T>(handle: H, callback: () => T): T {
    return this.#places.run({ transaction: this.#known.get(handle), isWithin: true }, callback);
  }

  /**
   * Follows a transaction from its callback to its end.
   *
   * @param begin begins it, with a callback in place of the application's; resolves once it is committed, rejects if it is not
   * @param callback the application's
   */
  async follow<A extends readonly unknown[], R, T>(
    begin: (callback: (handle: H, ...rest: A) => R) => PromiseLike<T>,
    callback: (handle: H, ...rest: A) => R,
  ): Promise<T> {
    let begun: BegunTransaction | undefined;
    try {
      const result = await begin((handle, ...rest) => {
        begun = this.begun(handle);
        return this.within(handle, () => callback(handle, ...rest));
      });
      begun?.end('committed');
      return result;
    } catch (error) {
      begun?.end('rolled-back');
      throw error;
    }
  }

  /**
   * Makes a transaction that is begun by hand the current one of the code that begins it; call this before that awaits anything.
   *
   * @returns to be called with its handle once it has begun
   */
  enter(): (handle: H) => BegunTransaction {
    const place: Place<H> = { transaction: undefined, isWithin: false };
    this.#places.enterWith(place);
    return (handle) => {
      const begun = this.begun(handle);
      place.transaction = this.#known.get(handle);
      return begun;
    };
  }
}
