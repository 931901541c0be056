import { expect, it } from 'vitest';
import { comeBackByHalves, playClusterOutages } from './cluster-outages.js';

/** Longer than it takes most clients to connect and disconnect a few times; in milliseconds. */
const BY_HALVES = 4000;

it('all nodes of a cluster away and back: every partition has an owner, and every confirmed message is handled', async () => {
  const { confirmed, unhandled, recoveries } = await playClusterOutages(1, (cluster) =>
    comeBackByHalves(cluster, BY_HALVES),
  );
  console.log(`All goes on ${recoveries.join(', ')} ms after the cluster is whole`);
  expect(unhandled).toEqual([]);
  expect(confirmed).toBeGreaterThan(100);
}, 60_000);
