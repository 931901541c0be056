import { Injectable } from '@nestjs/common';
import { ConfigurationError, DelayedHandler, DelayQueueAdmin, DelayQueueSchedules } from 'nestjs-delay-queue';
import {
  type DashboardRight,
  type DashboardUser,
  DelayQueueDashboardModule,
  type DelayQueueDashboardOptions,
} from 'nestjs-delay-queue/dashboard';
import { describe, expect, it } from 'vitest';
import { ACTING_ROUTES } from '../../lib/dashboard/acting.routes.js';
import { LIVE_LOOK, WATCH_ROUTE } from '../../lib/dashboard/dashboard.handler.js';
import { READING_ROUTES } from '../../lib/dashboard/reading.routes.js';
import { useBed } from '../support/app/bed.js';
import { OWN_HEADERS, type TestDashboard, openDashboard } from '../support/app/dashboard.js';
import { Jobs } from '../support/app/jobs.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

const READING = Object.keys(READING_ROUTES);
const ACTING = Object.keys(ACTING_ROUTES);

/** Stands in whatever belongs to the topic that some may not see: its name, ids, keys, tags, errors and payloads. */
const HIDDEN = 'zebra';
/** Stands in all payloads, and nowhere else. */
const SECRET = 'hunter2';
const SCRIPT = '<script>alert(1)</script>';

/** Fails everything. */
@Injectable()
class Zebras {
  @DelayedHandler(HIDDEN, { attempts: 1 })
  onMessage(): void {
    throw new Error(`${HIDDEN} has failed`);
  }
}

/** What each reading route is asked about a topic, so that it has something to show. */
const QUERIES: Readonly<Record<string, (topic: string) => object>> = {
  'api/session': () => ({}),
  'api/clock': () => ({}),
  'api/overview': () => ({}),
  'api/topic': (topic) => ({ topic }),
  'api/history': (topic) => ({ topic }),
  'api/agenda': (topic) => ({ topic, span: 86_400_000 }),
  'api/messages': (topic) => ({ topic, state: 'scheduled' }),
  'api/search': (topic) => ({ topic, tag: `${topic}${SCRIPT}` }),
  'api/message': (topic) => ({ topic, id: `${topic}-waiting` }),
  'api/dead': (topic) => ({ topic }),
  'api/schedules': () => ({}),
  'api/schedule': (topic) => ({ id: `${topic}-schedule` }),
  'api/fleet': () => ({}),
  'api/doctor': () => ({}),
  'api/audit': () => ({}),
  'api/operations': () => ({}),
};

function pathOf(route: string, topic: string): string {
  const query = QUERIES[route]?.(topic) ?? {};
  return `${route}?${new URLSearchParams(query as Record<string, string>).toString()}`;
}

/** Those whose filter may look into payloads. */
const FILTERED = ACTING.filter((route) => route.startsWith('api/messages/'));

/** Those that can count what is meant, with examples. */
const BULK = [...FILTERED, ...ACTING.filter((route) => /^api\/(dead\/|drain|purge)/.test(route))];

/** What makes each action take effect. */
function bodyOf(route: string, topic: string, operation: string): object {
  const dead = ['api/requeue', 'api/remove'].includes(route);
  const id = `${topic}-${route.startsWith('api/schedules/') ? 'schedule' : dead ? 'dead' : 'waiting'}`;
  return {
    topic,
    id: route === 'api/operations/stop' ? operation : id,
    delay: '2h',
    payload: 'changed',
    filter: { all: true },
    dryRun: false,
    confirm: topic,
  };
}

/** Two topics with a message that waits, one that is dead, a schedule, an entry of the audit log, and an operation under way. */
async function fill(dashboard: TestDashboard): Promise<Record<string, string>> {
  const { app } = dashboard;
  app.get(Jobs).respond = () => {
    throw new Error(`no ${SCRIPT}`);
  };
  const operations: Record<string, string> = {};
  for (const topic of ['jobs', HIDDEN]) {
    const options = { key: `${topic}${SCRIPT}`, tags: [`${topic}${SCRIPT}`] };
    await app.producer.publish(topic, { secret: SECRET }, { id: `${topic}-waiting`, delay: '1h', ...options });
    await app.producer.publish(topic, { secret: SECRET }, { id: `${topic}-dead`, ...options });
    await app.events.dead.first(({ id }) => id === `${topic}-dead`);
    const schedule = { id: `${topic}-schedule`, topic, payload: { secret: SECRET }, every: '1d' };
    await app.get(DelayQueueSchedules).upsert(schedule);
    await app.get(DelayQueueAdmin).resume(topic, { actor: `${topic}${SCRIPT}` });
    // The second of them would be changed after a year.
    const slow = { topic, filter: { all: true }, dryRun: false, rate: 0.000_000_03 };
    const { operation } = await dashboard.post<{ operation: { id: string } }>('api/dead/requeue', slow);
    operations[topic] = operation.id;
  }
  return operations;
}

/** What all routes that read answer, by their paths. */
async function answersOf(dashboard: TestDashboard, topic: string): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const route of READING) answers.set(route, await (await dashboard.fetch(pathOf(route, topic))).text());
  return answers;
}

function routesWith(answers: ReadonlyMap<string, string>, text: string): string[] {
  return [...answers].filter(([, answer]) => answer.includes(text)).map(([route]) => route);
}

/** What a stream with all looks tells until each has told something, and another message was handled in each topic. */
async function streamed(dashboard: TestDashboard, topic: string): Promise<string> {
  let text = '';
  const looks = [...READING.map((route) => pathOf(route, topic)), LIVE_LOOK];
  for (let i = 0; i < looks.length; i += 10) {
    const some = looks.slice(i, i + 10);
    const stream = await dashboard.watch(some);
    const publish = async (): Promise<void> => {
      for (const to of [HIDDEN, 'jobs']) await dashboard.app.producer.publish(to, { secret: SECRET });
    };
    const publishing = setInterval(() => void publish(), 50);
    try {
      for (const look of some.keys()) await stream.until((told) => told.look === look);
    } finally {
      clearInterval(publishing);
      await stream.close();
    }
    text += stream.text;
  }
  return text;
}

/** All that is stored of messages and schedules, and what is done to them. */
async function stored(dashboard: TestDashboard): Promise<unknown> {
  const everything = [];
  for (const topic of ['jobs', HIDDEN]) {
    const { paused, heldUntil } = await dashboard.get<Record<string, unknown>>(`api/topic?topic=${topic}`);
    const states = ['scheduled', 'dead'].map((state) => dashboard.get(`api/messages?topic=${topic}&state=${state}`));
    everything.push(paused, heldUntil, ...(await Promise.all(states)));
  }
  const { operations } = await dashboard.get<{ operations: { id: string; state: string }[] }>('api/operations');
  const { entries } = await dashboard.get<{ entries: object[] }>('api/audit');
  const { schedules } = await dashboard.get<{ schedules: object[] }>('api/schedules');
  return [...everything, entries, schedules, operations.map(({ id, state }) => [id, state])];
}

async function auditedBy(dashboard: TestDashboard): Promise<string> {
  return JSON.stringify(await dashboard.get('api/audit'));
}

async function open(): Promise<{ dashboard: TestDashboard; operations: Record<string, string> }> {
  const dashboard = await openDashboard(bed, { options: { fleetEvents: true }, providers: [Zebras] });
  return { dashboard, operations: await fill(dashboard) };
}

describe('the routes of the dashboard', () => {
  it('are all tried here', () => {
    expect(Object.keys(QUERIES).toSorted()).toEqual(READING.toSorted());
  });

  it('answer nothing to whoever has no right', async () => {
    const stranger = (await openDashboard(bed)).as('none');
    for (const path of ['../queues', 'index.html', 'app.js', 'api/nothing', WATCH_ROUTE, ...READING]) {
      expect([path, (await stranger.fetch(path)).status]).toEqual([path, 403]);
    }
    for (const path of ACTING) {
      expect([path, (await stranger.send(path, bodyOf(path, 'jobs', 'a'))).status]).toEqual([path, 403]);
    }
  });

  it('change nothing for whoever may only read, or do something else', async () => {
    const { dashboard, operations } = await open();
    const before = await stored(dashboard);
    const users: readonly (DashboardUser | 'read')[] = [
      'read',
      {},
      { right: 'operate', topics: [] },
      { right: 'operate', topics: ['jobs', 'ze'] },
    ];
    for (const user of users) {
      const topic = user !== 'read' && user.topics ? HIDDEN : 'jobs';
      for (const path of ACTING) {
        const { status } = await dashboard.as(user).send(path, bodyOf(path, topic, operations[topic] ?? ''));
        const refused = user === 'read' || user.topics === undefined ? [403] : [403, 404];
        expect(refused, `${path} ${JSON.stringify(user)}`).toContain(status);
      }
    }
    const canceller = dashboard.as({ actions: ['cancel'] });
    for (const path of ACTING.filter((one) => ACTING_ROUTES[one]?.right !== 'cancel')) {
      expect([path, (await canceller.send(path, bodyOf(path, 'jobs', operations['jobs'] ?? ''))).status]).toEqual([
        path,
        403,
      ]);
    }
    for (const path of [...READING, WATCH_ROUTE]) {
      expect([path, (await dashboard.send(path, {})).status]).toEqual([path, 405]);
    }
    for (const path of ACTING) expect([path, (await dashboard.fetch(path)).status]).toEqual([path, 405]);
    expect(await stored(dashboard)).toEqual(before);
    expect(await canceller.post('api/cancel', bodyOf('api/cancel', 'jobs', ''))).toEqual({ result: 'cancelled' });
  });

  it('tell of no other topic than those that somebody sees', async () => {
    const { dashboard } = await open();
    // Else nothing would be hidden below.
    expect(routesWith(await answersOf(dashboard, 'jobs'), HIDDEN)).toEqual([
      'api/overview',
      'api/schedules',
      'api/fleet',
      'api/audit',
      'api/operations',
    ]);
    expect(await dashboard.get('api/agenda?span=86400000')).toMatchObject({
      scheduled: 2,
      topics: [{ topic: 'jobs' }, { topic: HIDDEN }],
    });
    const user = dashboard.as({ right: 'operate', topics: ['job*'] });
    expect(routesWith(await answersOf(user, 'jobs'), HIDDEN)).toEqual([]);
    expect(routesWith(await answersOf(user, 'jobs'), 'jobs').length).toBeGreaterThan(10);
    const agenda = await user.get<{ buckets: { count: number }[] }>('api/agenda?span=86400000');
    expect(agenda).toMatchObject({ scheduled: 1, topics: [{ topic: 'jobs', scheduled: 1 }] });
    expect(agenda.buckets.reduce((sum, { count }) => sum + count, 0)).toBe(1);
    expect(routesWith(await answersOf(user, HIDDEN), HIDDEN)).toEqual(['api/schedule']);
    expect((await user.fetch(pathOf('api/schedule', HIDDEN))).status).toBe(404);
    expect((await user.fetch('api/doctor')).status).toBe(403);
    // What is nearly the name of another topic is not answered with it.
    expect(routesWith(await answersOf(dashboard.as({ topics: ['zebr', 'jobs'] }), 'zebr'), HIDDEN)).toEqual([]);
    expect(await streamed(user, 'jobs')).not.toContain(HIDDEN);
  });

  it('show nothing of payloads to whoever may not see them', async () => {
    const { dashboard } = await open();
    expect(routesWith(await answersOf(dashboard, 'jobs'), SECRET)).toEqual([
      'api/messages',
      'api/search',
      'api/message',
      'api/schedules',
      'api/schedule',
    ]);
    const user = dashboard.as({ right: 'operate', payloads: false });
    const answers = await answersOf(user, 'jobs');
    expect(routesWith(answers, SECRET)).toEqual([]);
    expect(routesWith(answers, '"error":{')).toEqual([]);
    expect(await streamed(user, 'jobs')).not.toContain(SECRET);
    expect((await user.send('api/edit', bodyOf('api/edit', 'jobs', ''))).status).toBe(403);
    for (const route of BULK) {
      const body = { ...bodyOf(route, 'jobs', ''), dryRun: true };
      expect(await (await dashboard.send(route, body)).text(), route).toContain(SECRET);
      const counted = await user.send(route, body);
      expect([route, counted.status]).toEqual([route, 200]);
      expect(await counted.text(), route).not.toContain(SECRET);
    }
    // What is found, or how much of it, would tell them by trial.
    const lookInto: [query: string, filter: object][] = [
      [`text=${SECRET}`, { text: SECRET }],
      [`field=secret&value=${SECRET}`, { field: { path: 'secret', value: SECRET } }],
    ];
    for (const [query, filter] of lookInto) {
      expect((await user.fetch(`api/search?topic=jobs&${query}`)).status).toBe(403);
      for (const route of FILTERED) {
        const body = { ...bodyOf(route, 'jobs', ''), dryRun: true, filter };
        expect([route, (await user.send(route, body)).status]).toEqual([route, 403]);
        expect([route, (await dashboard.send(route, body)).status]).toEqual([route, 200]);
      }
      await dashboard.post('api/messages/cancel', { ...bodyOf('api/messages/cancel', 'jobs', ''), filter });
    }
    await eventually(async () => expect(await auditedBy(dashboard)).toContain(SECRET));
    expect(await auditedBy(user)).not.toContain(SECRET);
  });

  it('answer in JSON, whatever stands in ids, keys, tags and errors', async () => {
    const { dashboard } = await open();
    for (const route of [...READING, 'api/<script>']) {
      const response = await dashboard.fetch(route.includes('<') ? route : pathOf(route, 'jobs'));
      const { headers } = response;
      expect(headers.get('content-type'), route).toBe('application/json; charset=utf-8');
      expect(headers.get('x-content-type-options'), route).toBe('nosniff');
      await expect(response.json(), route).resolves.toEqual(expect.any(Object));
    }
    expect(routesWith(await answersOf(dashboard, 'jobs'), SCRIPT).length).toBeGreaterThan(4);
  });

  it('refuse what another site makes the browser of an operator send', async () => {
    const { dashboard, operations } = await open();
    const before = await stored(dashboard);
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
      const body = bodyOf(path, 'jobs', operations['jobs'] ?? '');
      for (const headers of forgeries) {
        expect([path, headers, (await dashboard.send(path, body, headers)).status]).toEqual([path, headers, 403]);
      }
      for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
        const headers = { ...OWN_HEADERS, 'content-type': type };
        expect([path, (await dashboard.send(path, body, headers)).status]).toEqual([path, 415]);
      }
    }
    for (const path of [...READING, WATCH_ROUTE]) {
      for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
        expect([path, headers, (await dashboard.fetch(path, { headers })).status]).toEqual([path, headers, 403]);
      }
    }
    expect(await stored(dashboard)).toEqual(before);
    // Over plain http a browser sends no Sec-Fetch-Site.
    const honest = { 'content-type': json, 'x-delay-queue-dashboard': own, origin: new URL(dashboard.url).origin };
    expect((await dashboard.send('api/cancel', bodyOf('api/cancel', 'jobs', ''), honest)).status).toBe(200);
  });
});

function mayRead(): DashboardRight {
  return 'read';
}

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
