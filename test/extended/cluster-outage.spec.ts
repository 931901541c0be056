import { expect, it } from 'vitest';
import { goAway, playClusterOutages } from './cluster-outages.js';

const TIMES = 10;

/** Milliseconds. */
const AWAY = 15_000;

it('all nodes of a cluster away ten times: every partition has an owner, and every confirmed message is handled', async () => {
  const { confirmed, unhandled, recoveries } = await playClusterOutages(TIMES, (cluster) => goAway(cluster, AWAY));
  console.log(`${confirmed} messages; all goes on ${recoveries.join(', ')} ms after the cluster is whole`);
  expect(unhandled).toEqual([]);
  expect(recoveries).toHaveLength(TIMES);
}, 600_000);
