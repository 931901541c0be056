import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { Clock } from '../time/clock.js';
import { sleep } from '../time/sleep.js';
import type { SharedLooks } from './shared-looks.js';

/** Time between the checks for Redis during the wait for a look, in milliseconds. */
const PATIENCE = 500;

/** Longest time for Redis to answer such a check, in milliseconds. */
const MOST_TO_REACH = 2000;

/** Dependencies of a check for Redis. */
export interface Reach {
  readonly admin: Pick<DelayQueueAdmin, 'reach'>;
  readonly looks: SharedLooks;
  readonly clock: Clock;
}

/**
 * Returns the answer of a look, however long it takes, as long as Redis is there. The look itself sits out an outage for as long as
 * `publishTimeout`, and one that is kept does not ask Redis at all. But the viewer of a page has to learn soon why it stands still.
 *
 * @throws BrokerUnavailableError if Redis is away; errors of the look
 */
export async function unlessAway<T>(look: Promise<T>, reach: Reach): Promise<T> {
  const ended = new AbortController();
  try {
    const [answer] = await Promise.race([Promise.all([look, reachRedis(reach)]), untilAway(reach, ended.signal)]);
    return answer;
  } finally {
    ended.abort();
  }
}

async function untilAway(reach: Reach, ended: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(reach.clock, PATIENCE, ended);
    if (ended.aborted) return new Promise(() => {});
    await reachRedis(reach);
  }
}

/** Checks for Redis on behalf of all waiting viewers, and again two seconds later. */
async function reachRedis({ admin, looks }: Reach): Promise<void> {
  await looks.take(
    'reach',
    () => admin.reach(MOST_TO_REACH),
    () => 0,
  );
}
