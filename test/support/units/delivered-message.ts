import type { DelayedMessage } from 'nestjs-delay-queue';

/** A message as a handler is given it. */
export function deliveredMessage(more: Partial<DelayedMessage> = {}): DelayedMessage {
  const now = new Date();
  return {
    id: 'a',
    topic: 'orders',
    partition: 0,
    key: 'a',
    payload: { n: 1 },
    headers: {},
    attempt: 1,
    maxAttempts: 5,
    publishedAt: now,
    dueAt: now,
    signal: new AbortController().signal,
    ...more,
  };
}
