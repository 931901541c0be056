import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { Clock } from '../time/clock.js';
import { sleep } from '../time/sleep.js';
import type { SharedLooks } from './shared-looks.js';

/** How often whoever waits for a look asks whether Redis is there at all, in milliseconds. */
const PATIENCE = 500;

/** Longest time that Redis may take to answer that, in milliseconds. */
const MOST_TO_REACH = 2000;

/** What tells whether Redis is there. */
export interface Reach {
  readonly admin: Pick<DelayQueueAdmin, 'reach'>;
  readonly looks: SharedLooks;
  readonly clock: Clock;
}

/**
 * What a look answers, however long that takes, as long as Redis is there. The look itself sits an outage out for as long as
 * `publishTimeout`, and one that is kept does not ask Redis at all. But whoever watches a page is to read soon why it stands still.
 *
 * @throws BrokerUnavailableError if Redis is away; what the look throws
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

/** Asks for all who want to know, and again once that was two seconds ago. */
async function reachRedis({ admin, looks }: Reach): Promise<void> {
  await looks.take(
    'reach',
    () => admin.reach(MOST_TO_REACH),
    () => 0,
  );
}
