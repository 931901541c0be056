import { expect, it } from 'vitest';
import { Operations } from '../../../lib/dashboard/operations.js';
import { Viewer } from '../../../lib/dashboard/viewer.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { eventually } from '../../support/waiting.js';

const ABOUT = { action: 'requeue', topic: 'jobs', actor: 'ann', total: 7 } as const;
const ANN = new Viewer({ actor: 'ann', topics: undefined, actions: [], payloads: true });

it.each([
  ['done', async () => {}],
  ['failed', async () => Promise.reject(new Error('Redis is away'))],
] as const)('says once it has ended what has become of it: %s', async (state, work) => {
  const states: unknown[] = [];
  const operations: Operations = new Operations(new ManualClock(), () => states.push(operations.list(ANN)[0]?.state));
  expect(operations.begin(ABOUT, work)).toMatchObject({ state: 'running', total: 7 });
  expect(states).toEqual([]);
  await eventually(() => expect(states).toEqual([state]));
});
