import { expect, it, onTestFinished } from 'vitest';
import type { DashboardQueues } from '../../../lib/dashboard/route.js';
import { serveDashboard } from '../../../lib/dashboard/serve-dashboard.js';
import { OWN_HEADERS } from '../../support/app/dashboard.js';

it.each([
  ['is refused keeps what others have looked at', false, [403, 1]],
  ['was done has it looked at anew', true, [200, 2]],
])('an action that %s', async (_, operate, expected) => {
  let looks = 0;
  const admin = {
    reach: async () => {},
    pause: async () => {},
    history: async () => [++looks],
  };
  const queues = { admin } as unknown as DashboardQueues;
  const dashboard = await serveDashboard({ queues, port: 0, operate, log: { error: () => {} } });
  onTestFinished(async () => dashboard.close());
  const look = async (): Promise<Response> => fetch(`${dashboard.url}api/history?topic=jobs`);
  await look();
  const acted = { method: 'POST', headers: OWN_HEADERS, body: '{"topic":"jobs"}' };
  const { status } = await fetch(`${dashboard.url}api/pause`, acted);
  await look();
  expect([status, looks]).toEqual(expected);
});
