import { BrokerUnavailableError } from '../errors/operation.errors.js';

/** How many are asked about at once, so that a thousand of them keep nobody waiting in Redis. */
const AT_ONCE = 16;

/**
 * Asks about each of many, some at a time. What cannot be told of one does not hide the others. Once one has waited for a part of Redis
 * that is away, the rest is asked about at once, since each waits to the end.
 *
 * @returns in the order of the items
 */
export async function settleSome<I, R>(
  items: readonly I[],
  ask: (item: I) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  let atOnce = AT_ONCE;
  while (results.length < items.length) {
    const some = items.slice(results.length, results.length + atOnce);
    const settled = await Promise.allSettled(some.map(ask));
    if (settled.some(isUnavailable)) atOnce = Infinity;
    results.push(...settled);
  }
  return results;
}

export function isUnavailable(result: PromiseSettledResult<unknown>): boolean {
  return result.status === 'rejected' && result.reason instanceof BrokerUnavailableError;
}
