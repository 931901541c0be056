import { InvalidArgumentError } from '../errors/options.errors.js';

/**
 * Takes what a handler of batches resolved with for the outcomes of its messages, where that is what
 * `Promise.allSettled()` gives.
 *
 * @param count how many messages the handler was called with
 * @returns `undefined` where it is something else, which acknowledges all
 * @throws InvalidArgumentError where there is not one outcome for each message
 */
export function resultsOf(resolved: unknown, count: number): readonly PromiseSettledResult<unknown>[] | undefined {
  if (!Array.isArray(resolved) || resolved.length === 0) return undefined;
  // Not `every` of the array itself, which passes over the holes of a sparse one.
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
