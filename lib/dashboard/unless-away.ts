import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { Clock } from '../time/clock.js';
import { sleep } from '../time/sleep.js';

/** How often whoever waits for a look asks whether Redis is there at all, in milliseconds. */
const PATIENCE = 500;

/** Longest time that Redis may take to answer that, in milliseconds. */
const MOST_TO_REACH = 1000;

/**
 * What a look answers, however long that takes, as long as Redis is there. The look itself sits an outage out for as long as
 * `publishTimeout`, but whoever watches a page is to read soon why it stands still.
 *
 * @throws BrokerUnavailableError if Redis is away; what the look throws
 */
export async function unlessAway<T>(look: Promise<T>, admin: Pick<DelayQueueAdmin, 'reach'>, clock: Clock): Promise<T> {
  const ended = new AbortController();
  try {
    return await Promise.race([look, untilAway(admin, clock, ended.signal)]);
  } finally {
    ended.abort();
  }
}

async function untilAway(admin: Pick<DelayQueueAdmin, 'reach'>, clock: Clock, ended: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(clock, PATIENCE, ended);
    if (ended.aborted) return new Promise(() => {});
    await admin.reach(MOST_TO_REACH);
  }
}
