import { MAX_HISTORY } from '../../messages/failed-attempt.js';
import type { Failure } from '../../messages/failure.js';
import type { FailureRecord } from '../../messages/failure-record.js';
import type { Outcome, StoredMessage } from '../broker.interface.js';

/** The failures of a partition's messages, as the script `settle` keeps them. */
export class MemoryFailures {
  readonly #records = new Map<string, FailureRecord>();

  of(storedId: string): Pick<StoredMessage, 'failure' | 'history'> {
    return this.#records.get(storedId) ?? { failure: undefined, history: [] };
  }

  keep(storedId: string, { failure, failedAttempt }: Extract<Outcome, { readonly failure: unknown }>): void {
    const { history } = this.of(storedId);
    this.#records.set(storedId, {
      failure,
      history: failedAttempt ? [failedAttempt, ...history].slice(0, MAX_HISTORY) : history,
    });
  }

  /** Without what is stored of those before, as `set-aside` does. */
  replace(storedId: string, failure: Failure): void {
    this.#records.set(storedId, { failure, history: [] });
  }

  delete(storedId: string): void {
    this.#records.delete(storedId);
  }
}
