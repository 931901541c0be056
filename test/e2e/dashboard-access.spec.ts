import { UnauthorizedException } from '@nestjs/common';
import { ConfigurationError } from 'nestjs-delay-queue';
import {
  type DashboardRight,
  DelayQueueDashboardModule,
  type DelayQueueDashboardOptions,
} from 'nestjs-delay-queue/dashboard';
import { describe, expect, it } from 'vitest';
import { ACTING_ROUTES } from '../../lib/dashboard/acting.routes.js';
import { WATCH_ROUTE } from '../../lib/dashboard/dashboard.handler.js';
import { READING_ROUTES } from '../../lib/dashboard/reading.routes.js';
import { useBed } from '../support/app/bed.js';
import { OWN_HEADERS, type TestDashboard, openDashboard } from '../support/app/dashboard.js';
import { Jobs } from '../support/app/jobs.js';
import { HTTP_PLATFORMS } from '../support/app/platforms.js';

const bed = useBed();

const mayRead = (): DashboardRight => 'read';

const READING = [...Object.keys(READING_ROUTES), WATCH_ROUTE];
const ACTING = Object.keys(ACTING_ROUTES);

/** What makes each action take effect. */
const BODY = {
  topic: 'jobs',
  id: 'waiting',
  delay: '2h',
  payload: 'changed',
  filter: {},
  dryRun: false,
  confirm: 'jobs',
};
const DEAD_ONE = { ...BODY, id: 'broken' };

/** All that is stored of messages, and what handlers say of themselves left out. */
async function stored(dashboard: TestDashboard): Promise<unknown> {
  const topic = await dashboard.get<{ partitions: object[]; paused: boolean }>('api/topic?topic=jobs');
  const messages = await Promise.all(
    ['scheduled', 'dead'].map(async (state) => dashboard.get(`api/messages?topic=jobs&state=${state}`)),
  );
  const { entries } = await dashboard.get<{ entries: object[] }>('api/audit');
  const { schedules } = await dashboard.get<{ schedules: object[] }>('api/schedules');
  return { paused: topic.paused, messages, entries, schedules };
}

/** A message that waits, and one that is dead. */
async function fill({ app }: TestDashboard): Promise<void> {
  app.get(Jobs).respond = () => {
    throw new Error('no');
  };
  await app.producer.publish('jobs', 'secret', { id: 'waiting', delay: '1h' });
  await app.producer.publish('jobs', 'secret', { id: 'broken' });
  await app.events.dead.first();
}

describe.each(HTTP_PLATFORMS)('the dashboard on %s', (platform) => {
  it('answers nothing to whoever has no right', async () => {
    const stranger = (await openDashboard(bed, { platform })).as('none');
    for (const path of ['../queues', 'index.html', 'app.js', 'api/nothing', ...READING]) {
      expect([path, (await stranger.fetch(path)).status]).toEqual([path, 403]);
    }
    for (const path of ACTING) {
      const init = { method: 'POST', headers: OWN_HEADERS, body: JSON.stringify(BODY) };
      expect([path, (await stranger.fetch(path, init)).status]).toEqual([path, 403]);
    }
  });

  it('changes nothing for whoever may only read, by whatever method', async () => {
    const dashboard = await openDashboard(bed, { platform });
    await fill(dashboard);
    const before = await stored(dashboard);
    const reader = dashboard.as('read');
    for (const path of ACTING) {
      for (const body of [BODY, DEAD_ONE]) {
        const init = { method: 'POST', headers: OWN_HEADERS, body: JSON.stringify(body) };
        expect([path, (await reader.fetch(path, init)).status]).toEqual([path, 403]);
      }
      expect([path, (await reader.fetch(`${path}?topic=jobs&id=waiting`)).status]).toEqual([path, 405]);
    }
    for (const path of READING) {
      const init = { method: 'POST', headers: OWN_HEADERS, body: JSON.stringify(BODY) };
      expect([path, (await reader.fetch(path, init)).status]).toEqual([path, 405]);
    }
    expect(await stored(dashboard)).toEqual(before);
  });

  it('refuses what another site makes the browser of an operator send', async () => {
    const dashboard = await openDashboard(bed, { platform });
    await fill(dashboard);
    const before = await stored(dashboard);
    const { origin } = new URL(dashboard.url);
    const { 'content-type': json, 'x-delay-queue-dashboard': own } = OWN_HEADERS;
    const forgeries: Record<string, string>[] = [
      { 'content-type': json },
      { 'content-type': json, 'sec-fetch-site': 'same-origin' },
      { ...OWN_HEADERS, 'sec-fetch-site': 'cross-site' },
      { ...OWN_HEADERS, 'sec-fetch-site': 'same-site' },
      { ...OWN_HEADERS, 'sec-fetch-site': 'none' },
      { 'content-type': json, 'x-delay-queue-dashboard': own, origin: 'https://evil.example' },
      { 'content-type': json, 'x-delay-queue-dashboard': own, origin: 'null' },
    ];
    for (const path of ACTING) {
      for (const headers of forgeries) {
        const init = { method: 'POST', headers, body: JSON.stringify(BODY) };
        expect([path, headers, (await dashboard.fetch(path, init)).status]).toEqual([path, headers, 403]);
      }
      for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
        const init = { method: 'POST', headers: { ...OWN_HEADERS, 'content-type': type }, body: JSON.stringify(BODY) };
        expect([path, (await dashboard.fetch(path, init)).status]).toEqual([path, 415]);
      }
    }
    expect(await stored(dashboard)).toEqual(before);
    // A browser of before Sec-Fetch-Site.
    const honest = { 'content-type': json, 'x-delay-queue-dashboard': own, origin };
    expect(await dashboard.post('api/cancel', BODY, honest)).toEqual({ result: 'cancelled' });
  });

  it('shows nothing to a page of another site', async () => {
    const dashboard = await openDashboard(bed, { platform });
    for (const path of READING) {
      const { status } = await dashboard.fetch(path, { headers: { 'sec-fetch-site': 'cross-site' } });
      expect([path, status]).toEqual([path, 403]);
    }
  });

  it('asks the guards of the application too', async () => {
    let calls = 0;
    const dashboard = await openDashboard(bed, {
      platform,
      prepare: (nest) => nest.useGlobalGuards({ canActivate: () => ++calls > 1 }),
    });
    expect((await dashboard.fetch('api/session')).status).toBe(403);
    expect((await dashboard.fetch('api/session')).status).toBe(200);
  });

  it('answers what access throws, or wrongly answers, with an error of the application', async () => {
    const answers: (() => unknown)[] = [
      () => {
        throw new UnauthorizedException();
      },
      () => 'admin',
      () => true,
    ];
    const access = (): DashboardRight => answers.shift()?.() as DashboardRight;
    const dashboard = await openDashboard(bed, { platform, access });
    const statuses = [];
    while (answers.length > 0) statuses.push((await dashboard.fetch('api/session')).status);
    expect(statuses).toEqual([401, 500, 500]);
  });
});

describe('DelayQueueDashboardModule.forRoot()', () => {
  it.each([
    [{}, "needs the option 'access'"],
    [{ access: 'read' }, "needs the option 'access'"],
    [{ access: mayRead, path: '/queues?' }, 'path must be a path'],
    [{ access: mayRead, redact: true }, 'redact must be a function'],
    [{ access: mayRead, acess: 1 }, "There is no option 'acess'"],
  ])('refuses %j', (options, message) => {
    const forRoot = () => DelayQueueDashboardModule.forRoot(options as unknown as DelayQueueDashboardOptions);
    expect(forRoot).toThrow(ConfigurationError);
    expect(forRoot).toThrow(message);
  });
});
