import type { CheckedDelivery } from '../consumer/delivery-check.js';
import type { Clock } from '../time/clock.js';
import { within } from '../time/deadline.js';
import type { PulledTopic } from './pulled-topic.js';
import type { ReceiveRequest } from './waiting-receivers.js';

/** For how long partitions that are not held yet keep those waiting that are, in milliseconds. */
const OPENING = 500;

/** A topic, and what is wanted of it. `max`, `wait` and `signal` are the same for all that are received from together. */
export interface TopicRequest {
  readonly pulled: Pick<PulledTopic, 'isOpen' | 'open' | 'receive'>;
  readonly request: ReceiveRequest;
}

/**
 * Receives from several topics, those before the others: what is due now is taken in their order. If nothing is, they are waited for at
 * the same time, and the first one that has messages gives all of them. A topic that cannot be received from keeps nothing back that
 * another one has given.
 *
 * @param topics at least one
 */
export async function receiveInOrder(clock: Clock, topics: readonly TopicRequest[]): Promise<CheckedDelivery[]> {
  const [{ request }] = topics as [TopicRequest];
  const until = clock.now() + request.wait;
  await openAll(clock, topics, request.signal);
  const open = topics.filter(({ pulled }) => pulled.isOpen);
  const received: CheckedDelivery[] = [];
  for (const { pulled, request: one } of open) {
    const max = request.max - received.length;
    if (max > 0 && !request.signal?.aborted) received.push(...(await pulled.receive({ ...one, max, wait: 0 })));
  }
  const wait = Math.max(0, until - clock.now());
  if (received.length > 0 || (wait === 0 && open.length === topics.length)) return received;
  return waitForFirst(topics.map(({ pulled, request: one }) => ({ pulled, request: { ...one, wait } })));
}

/** Before anything is claimed: its lease would run while another topic is opened. */
async function openAll(clock: Clock, topics: readonly TopicRequest[], signal: AbortSignal | undefined): Promise<void> {
  const closed = topics.filter(({ pulled }) => !pulled.isOpen);
  if (closed.length === 0) return;
  const opened = Promise.allSettled(closed.map(async ({ pulled }) => pulled.open()));
  await within(clock, OPENING, opened, { signal }).catch(() => {});
}

async function waitForFirst(topics: readonly TopicRequest[]): Promise<CheckedDelivery[]> {
  const ends = topics.map(() => new AbortController());
  const endBut = (place: number): void => ends.forEach((end, i) => i !== place && end.abort());
  let first: number | undefined;
  const { signal } = (topics[0] as TopicRequest).request;
  const endAll = (): void => endBut(-1);
  signal?.addEventListener('abort', endAll);
  if (signal?.aborted) endAll();
  const answers = await Promise.allSettled(
    topics.map(async ({ pulled, request }, place) => {
      const mayTake = (): boolean => {
        if (first === undefined) endBut((first = place));
        return first === place;
      };
      try {
        return await pulled.receive({ ...request, signal: ends[place]?.signal, mayTake });
      } catch (error) {
        // What another one has by now is received all the same.
        if (first === undefined) endAll();
        throw error;
      }
    }),
  );
  signal?.removeEventListener('abort', endAll);
  const received = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (received.length === 0 && failed) throw failed.reason;
  return received;
}
