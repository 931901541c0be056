import { expect, it } from 'vitest';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { wrapBroker } from '../../../lib/store/wrap-broker.js';
import { ACTING_ROUTES } from '../../../lib/dashboard/acting.routes.js';
import { Operations } from '../../../lib/dashboard/operations.js';
import { type AskedContext, Given, type Route, answerOf } from '../../../lib/dashboard/route.js';
import { viewerOf } from '../../../lib/dashboard/viewer.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { testAdmin } from '../../support/units/admin.js';

const clock = new ManualClock();

it.each<[route: string, body: object]>([
  ['messages/cancel', { filter: { tag: '' } }],
  ['messages/cancel', { filter: {} }],
  ['messages/reschedule', { filter: { key: 'k' }, delay: 'soon' }],
  ['messages/run-now', { filter: { from: 2, to: 1 } }],
  ['dead/requeue', { filter: { reason: 'tired' } }],
  ['dead/remove', { filter: { all: true }, rate: -1 }],
  ['drain', { topic: 'unused', confirm: 'unused' }],
])('%s of %j is refused before anything begins', async (route, body) => {
  const embedded = new EmbeddedBroker(clock);
  await embedded.fleet.configure('jobs', 1);
  const calls: string[] = [];
  const broker = wrapBroker(embedded, async ({ operation, run }) => {
    calls.push(operation);
    return run();
  });
  const operations = new Operations(clock, () => {});
  const viewer = viewerOf('operate');
  const context = {
    queues: { admin: testAdmin(broker, clock) },
    operations,
    viewer,
    by: {},
  } as unknown as AskedContext;
  const given = new Given({ topic: 'jobs', dryRun: false, ...body });
  await expect(answerOf(context, given, ACTING_ROUTES[`api/${route}`] as Route)).rejects.toThrow(InvalidArgumentError);
  expect(viewer && operations.list(viewer)).toEqual([]);
  expect(calls.filter((operation) => operation !== 'configOf')).toEqual([]);
});
