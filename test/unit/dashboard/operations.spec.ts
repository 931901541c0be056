import { expect, it } from 'vitest';
import { type OperationControl, Operations } from '../../../lib/dashboard/operations.js';
import { Viewer } from '../../../lib/dashboard/viewer.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { eventually } from '../../support/waiting.js';

const ABOUT = { action: 'requeue', topic: 'jobs', actor: 'ann', total: 7 } as const;
const RESULT = { matched: 3, changed: 2, aborted: false, examples: undefined };
const ANN = new Viewer({ actor: 'ann', topics: undefined, actions: [], payloads: true });

it.each([
  ['done', async () => RESULT],
  ['failed', async () => Promise.reject(new Error('Redis is away'))],
] as const)('says once it has ended what has become of it: %s', async (state, work) => {
  const states: unknown[] = [];
  const operations: Operations = new Operations(new ManualClock(), () => states.push(operations.list(ANN)[0]?.state));
  expect(operations.begin(ABOUT, work)).toMatchObject({ state: 'running', total: 7 });
  expect(states).toEqual([]);
  await eventually(() => expect(states).toEqual([state]));
});

const BEN = new Viewer({ actor: 'ben', topics: ['mails'], actions: ['requeue'], payloads: true });

/** Work that goes on until it is stopped. */
const untilStopped = async ({ signal, onProgress }: OperationControl): Promise<typeof RESULT> => {
  onProgress({ matched: 3, changed: 2 });
  await new Promise((stopped) => signal.addEventListener('abort', stopped));
  return RESULT;
};

it('are shown where their topic is seen, and can be stopped: the latest first, with how far they have come', async () => {
  const operations = new Operations(new ManualClock(), () => {});
  const { id } = operations.begin(ABOUT, untilStopped);
  const mails = operations.begin({ ...ABOUT, topic: 'mails' }, untilStopped);
  const progress = { matched: 3, changed: 2 };
  expect(operations.list(ANN)).toMatchObject([{ id: mails.id, progress }, { id }]);
  expect(operations.list(BEN)).toMatchObject([{ id: mails.id }]);
  expect(() => operations.get(id, BEN)).toThrow('no such operation');
  operations.stop(mails.id);
  await eventually(() => expect(operations.list(ANN)).toMatchObject([{ state: 'stopped' }, { state: 'running' }]));
  operations.stopAll();
  await eventually(() => expect(operations.get(id, ANN)).toMatchObject({ state: 'stopped' }));
});

it('are forgotten beyond 100, the first ones first, but not while they are running', async () => {
  let ended = 0;
  const operations = new Operations(new ManualClock(), () => ended++);
  const running = operations.begin(ABOUT, untilStopped);
  for (let i = 0; i < 105; i++) operations.begin({ ...ABOUT, total: i }, async () => RESULT);
  await eventually(() => expect(ended).toBe(105));
  operations.begin(ABOUT, untilStopped);
  const left = operations.list(ANN);
  expect([left.length, left.at(-1)?.id, left.at(-2)?.total]).toEqual([100, running.id, 7]);
  operations.stopAll();
});
