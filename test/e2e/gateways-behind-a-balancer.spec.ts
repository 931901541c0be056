import { afterEach, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { useGateways } from '../support/app/gateway.js';
import { startAlternatingBalancer } from '../support/gateway/alternating-balancer.js';
import { OrderedSteps } from '../support/gateway/ordered-steps.js';

/** Whoever is not told that something is due waits until the lease of the delivery before would have ended: a test does not wait for that. */
const LEASE = 10 * 60_000;

const bed = useBed();
const open = useGateways(bed);
const opened: (() => Promise<void> | void)[] = [];

// Before the gateways are closed.
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

it('what one gateway hands out, in order, goes on at once when the other one settles it', async () => {
  const topicOptions = { jobs: { partitions: 4, ordered: true } };
  const [first, second] = [await open('standalone', { topicOptions }), await open('Express', { topicOptions })];
  const balancer = await startAlternatingBalancer(first.url, second.url);
  const steps = new OrderedSteps({ url: balancer.url, token: 'all', topic: 'jobs', lease: LEASE, wait: 30_000 });
  opened.push(
    async () => balancer.close(),
    () => steps.end(),
  );

  // One gateway has all partitions, and does not hear that what it has handed out is settled: it watches those that it gives up.
  await steps.publish(0);
  await steps.work(['one'], 1);
  await steps.publish(1, 9);
  await steps.work(['one', 'another']);

  expect(steps.delivered).toEqual(OrderedSteps.expected);
  expect([steps.count, steps.unanswered]).toEqual([60, 0]);
  expect(await first.ok('/v1/topics/jobs/stats')).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
});
