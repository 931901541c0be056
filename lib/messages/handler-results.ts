import { InvalidArgumentError } from '../errors/options.errors.js';

/**
 * Returns the outcomes of the messages of a batch, if the handler returned the result of `Promise.allSettled()`.
 *
 * @param count number of messages that the handler was called with
 * @returns `undefined` if the handler returned anything else, which acknowledges all messages
 * @throws InvalidArgumentError if there is not one outcome for each message
 */
export function resultsOf(resolved: unknown, count: number): readonly PromiseSettledResult<unknown>[] | undefined {
  if (!Array.isArray(resolved) || resolved.length === 0) return undefined;
  // `every` of the array itself would skip the holes of a sparse array.
  const results: readonly unknown[] = Array.from(resolved);
  if (!results.every(isSettledResult)) return undefined;
  if (results.length === count) return results;
  throw new InvalidArgumentError(
    `The handler was called with ${count} messages and returned ${results.length} results in the form of ` +
      `Promise.allSettled(). Return one for each message, in their order, or anything else to acknowledge all of them.`,
  );
}

function isSettledResult(value: unknown): value is PromiseSettledResult<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const { status } = value as { status?: unknown };
  return status === 'fulfilled' || status === 'rejected';
}
