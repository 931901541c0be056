import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { DelayQueueError } from '../../errors/delay-queue.error.js';

/** Whether a call failed because of what it carries or met, so that it would fail again, while others can be served. */
export function isRefused(error: unknown): boolean {
  return error instanceof BrokerUnavailableError ? error.refused : error instanceof DelayQueueError;
}

/**
 * Makes one call for many items. If it is refused, makes one for each half, and so on until the culprit is alone: it must not
 * keep the others from being served.
 *
 * @param call answers in the order of the items, of which the first is named by its place; if it fails it has changed nothing
 * @param onFailed called with each item for which no call was served, and why; its result takes the place of the answer
 * @returns in the order of the items
 * @throws any error of `onFailed`
 */
export async function splitIfRefused<T, R>(
  items: readonly T[],
  call: (items: readonly T[], from: number) => Promise<readonly R[]>,
  onFailed: (item: T, error: unknown) => R | Promise<R>,
  from = 0,
): Promise<readonly R[]> {
  try {
    return await call(items, from);
  } catch (error) {
    const answers: R[] = [];
    if (items.length > 1 && isRefused(error)) {
      const middle = Math.ceil(items.length / 2);
      answers.push(
        ...(await splitIfRefused(items.slice(0, middle), call, onFailed, from)),
        ...(await splitIfRefused(items.slice(middle), call, onFailed, from + middle)),
      );
    } else {
      for (const item of items) answers.push(await onFailed(item, error));
    }
    return answers;
  }
}
