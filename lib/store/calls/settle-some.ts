import { BrokerUnavailableError } from '../../errors/operation.errors.js';

/**
 * Asks about each of many, some at a time. A failure for one does not hide the others. Once one has waited for a part of Redis that is
 * away, it asks about all the rest at once, since each waits to the end.
 *
 * @param atOnce most at a time, so that a thousand of them keep no other call waiting in Redis
 * @returns in the order of the items
 */
export async function settleSome<I, R>(
  items: readonly I[],
  ask: (item: I) => Promise<R>,
  atOnce = 16,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  let count = atOnce;
  while (results.length < items.length) {
    const some = items.slice(results.length, results.length + count);
    const settled = await Promise.allSettled(some.map(ask));
    if (settled.some(isAway)) count = Infinity;
    results.push(...settled);
  }
  return results;
}

function isAway(result: PromiseSettledResult<unknown>): boolean {
  return result.status === 'rejected' && result.reason instanceof BrokerUnavailableError && result.reason.transient;
}
