import { type INestApplication, UnauthorizedException, VersioningType } from '@nestjs/common';
import type { DashboardRight } from 'nestjs-delay-queue/dashboard';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { OWN_HEADERS, openDashboard } from '../support/app/dashboard.js';
import { HTTP_PLATFORMS } from '../support/app/platforms.js';

const bed = useBed();

describe.each(HTTP_PLATFORMS)('the dashboard on %s', (platform) => {
  it('is found below a global prefix, with versioning switched on', async () => {
    const dashboard = await openDashboard(bed, {
      platform,
      at: '/shop/v1/queues/',
      prepare: (nest) => nest.setGlobalPrefix('shop/v1').enableVersioning({ type: VersioningType.URI }),
    });
    expect(await dashboard.get('api/session')).toMatchObject({ actor: 'ann', payloads: true });
    const bare = await dashboard.fetch('../queues');
    expect([bare.status, new URL(bare.headers.get('location') ?? '', bare.url).href]).toEqual([
      308,
      `${dashboard.url}index.html`,
    ]);
  });

  it('acts on a message and writes down who did it', async () => {
    const dashboard = await openDashboard(bed, { platform });
    const place = { topic: 'jobs', id: 'a' };
    await dashboard.app.producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    expect(await dashboard.post('api/edit', { ...place, payload: { b: 2 } })).toEqual({ result: 'edited' });
    expect(await dashboard.post('api/reschedule', { ...place, delay: '2h' })).toEqual({ result: 'moved' });
    const { message, explanation } = await dashboard.get<Record<string, object>>('api/message?topic=jobs&id=a');
    expect(message).toMatchObject({ payload: { b: 2 }, state: 'scheduled', redacted: false });
    expect(explanation).toMatchObject({ cause: 'not-due' });
    await dashboard.post('api/run-now', place);
    await dashboard.app.events.acked.first();
    const { entries } = await dashboard.get<{ entries: object[] }>('api/audit');
    expect(entries).toMatchObject([
      { action: 'runNow', actor: 'ann' },
      { action: 'reschedule', actor: 'ann' },
      { action: 'edit', actor: 'ann' },
    ]);
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
      () => ({ rihgt: 'operate' }),
    ];
    const access = (): DashboardRight => answers.shift()?.() as DashboardRight;
    const dashboard = await openDashboard(bed, { platform, access });
    const statuses = [];
    while (answers.length > 0) statuses.push((await dashboard.fetch('api/session')).status);
    expect(statuses).toEqual([401, 500, 500]);
    expect(dashboard.app.logs.lines.join('\n')).toContain("There is no option 'rihgt'");
  });

  it('tells all that a page shows in one stream, events as they come too, and ends with the application', async () => {
    const dashboard = await openDashboard(bed, { platform, options: { fleetEvents: true } });
    const looks = ['api/topic?topic=jobs', 'api/message?topic=jobs', 'api/live?topic=jobs&kind=acked'];
    const stream = await dashboard.watch(looks);
    // It tells only of what comes after it has begun to listen.
    const publishing = setInterval(() => void dashboard.app.producer.publish('jobs', 1), 50);
    try {
      expect(await stream.until(({ look }) => look === 2)).toMatchObject({ answer: { kind: 'acked', topic: 'jobs' } });
    } finally {
      clearInterval(publishing);
    }
    expect(await stream.until(({ look, answer }) => look === 0 && answer !== undefined)).toMatchObject({
      answer: { topic: 'jobs', handlers: [expect.any(String)] },
    });
    expect(await stream.until(({ look }) => look === 1)).toMatchObject({ error: { code: 'INVALID_ARGUMENT' } });
    await dashboard.app.close();
    await stream.ended();
  });
});

it.each([
  [false, 403],
  [true, 200],
])(
  'the dashboard takes the host of a proxy for its own if the application trusts it (%s: %s)',
  async (isTrusted, status) => {
    const prepare = (nest: INestApplication): unknown =>
      (nest as unknown as { set(setting: string, value: boolean): unknown }).set('trust proxy', isTrusted);
    const dashboard = await openDashboard(bed, { prepare });
    const { 'sec-fetch-site': _, ...own } = OWN_HEADERS;
    const passedOn = { ...own, origin: 'http://queues.example', 'x-forwarded-host': 'queues.example' };
    expect((await dashboard.send('api/pause', { topic: 'jobs' }, passedOn)).status).toBe(status);
  },
);
