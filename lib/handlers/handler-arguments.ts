import type { DelayedMessage } from '../messages/delayed-message.interface.js';

/**
 * What a decorated method is called with: `(payload, message)`, or the arrays of both where it handles batches.
 *
 * @param messages one at least; exactly one where `batch` is `undefined`
 */
export function argumentsFor(
  messages: readonly DelayedMessage[],
  batch: number | undefined,
): [payload: unknown, message: unknown] {
  return batch === undefined ? [messages[0]?.payload, messages[0]] : [messages.map(({ payload }) => payload), messages];
}
