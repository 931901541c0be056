import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { DelayQueueError } from '../errors/delay-queue.error.js';

/** Whether a call failed for what it carries or for what it met, so that it would fail again, while others may be served. */
export function isRefused(error: unknown): boolean {
  return error instanceof BrokerUnavailableError ? error.refused : error instanceof DelayQueueError;
}

/**
 * Makes one call for many. Where it is refused, makes one for each half, and so on until whatever is in the way stands
 * alone: it must not keep the others from being served.
 *
 * @param call answers in the order of the items; where it fails it has changed nothing
 * @param onFailed told of each item for which no call was served, and why; its result stands for the answer
 * @returns in the order of the items
 * @throws what `onFailed` throws
 */
export async function callApart<T, R>(
  items: readonly T[],
  call: (items: readonly T[]) => Promise<readonly R[]>,
  onFailed: (item: T, error: unknown) => R | Promise<R>,
): Promise<readonly R[]> {
  try {
    return await call(items);
  } catch (error) {
    const answers: R[] = [];
    if (items.length > 1 && isRefused(error)) {
      const middle = Math.ceil(items.length / 2);
      for (const half of [items.slice(0, middle), items.slice(middle)]) {
        answers.push(...(await callApart(half, call, onFailed)));
      }
    } else {
      for (const item of items) answers.push(await onFailed(item, error));
    }
    return answers;
  }
}
