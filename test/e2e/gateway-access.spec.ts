import { Controller, Get, Module, UnauthorizedException, VersioningType } from '@nestjs/common';
import { get } from 'node:http';
import { ConfigurationError, DelayQueueAdmin, DelayQueueSchedules } from 'nestjs-delay-queue';
import { DelayQueueGatewayModule, type DelayQueueGatewayOptions } from 'nestjs-delay-queue/gateway';
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../lib/gateway/routes.js';
import { useBed } from '../support/app/bed.js';
import { StoreKeys } from '../support/internals.js';
import { CALLERS, GATEWAY_KINDS, type Sent, type TestGateway, useGateways } from '../support/app/gateway.js';

const bed = useBed();
const open = useGateways(bed);

/** A receipt that was made up. */
function receiptFor(topic: string): string {
  return Buffer.from(JSON.stringify([1, topic, 0, 'x', 'y', 1, 5, 1, 0, 0])).toString('base64url');
}

/** A body with which each route would do something to a topic, by the names of the routes. */
const BODIES: Readonly<Record<string, (topic: string) => object>> = {
  publish: () => ({ payload: 1, delay: '1h' }),
  rescheduleMessage: () => ({ delay: '2h' }),
  receive: () => ({ wait: 0 }),
  receiveFrom: (topic) => ({ topics: [topic], wait: 0 }),
  settle: (topic) => ({ receipt: receiptFor(topic), outcome: 'ack' }),
  extend: (topic) => ({ receipt: receiptFor(topic), lease: '1m' }),
  putSchedule: (topic) => ({ topic, payload: 2, every: '1h' }),
};

/** Every route, as a request about a topic. */
function requestsFor(topic: string): { name: string; right: string | undefined; path: string; sent: Sent }[] {
  return ROUTES.map(({ name, method, path, right, body }) => {
    const filled = path
      .replace('{topic}', topic)
      .replace('{id}', path.includes('schedules') ? `${topic}-daily` : 'waiting');
    const query = name === 'cancelTagged' ? '?tag=t' : '';
    const given = body ? { body: BODIES[name]?.(topic) } : {};
    return { name, right, path: `${filled}${query}`, sent: { method, ...given } };
  });
}

/** A message and a schedule for each topic. */
async function fill(): Promise<() => Promise<unknown>> {
  const app = await bed.start({ options: { defaults: { partitions: 2 } } });
  const { schedules, admin } = partsOf(app);
  for (const topic of ['jobs', 'secret']) {
    await app.producer.publish(topic, 'content', { id: 'waiting', delay: '1h', tags: ['t'] });
    await schedules.upsert({ id: `${topic}-daily`, topic, payload: 'content', every: '1h' });
  }
  return async () => ({
    schedules: await schedules.list(),
    messages: await Promise.all(['jobs', 'secret'].map(async (topic) => admin.peek(topic, 'scheduled'))),
  });
}

function partsOf(app: Awaited<ReturnType<typeof bed.start>>) {
  return { schedules: app.get(DelayQueueSchedules), admin: app.get(DelayQueueAdmin) };
}

/** Some routes answer what somebody may see, which may be nothing. */
const LISTS = new Set(['listTopics', 'listSchedules']);

describe.each(GATEWAY_KINDS)('rights in the gateway (%s)', (kind) => {
  it('lets nobody do anything without the right for it', async () => {
    const stored = await fill();
    const before = await stored();
    const gateway = await open(kind);
    for (const caller of CALLERS.filter((one) => one !== 'all')) {
      for (const { name, right, path, sent } of requestsFor('jobs')) {
        if (right === caller || LISTS.has(name)) continue;
        const { status, content } = await gateway.as(caller).send(path, sent);
        const isHidden = name.endsWith('Schedule') && name !== 'putSchedule' && caller !== 'read';
        expect([caller, name, status, content['code']]).toEqual([
          caller,
          name,
          ...(isHidden ? [404, 'SCHEDULE_NOT_FOUND'] : [403, 'FORBIDDEN']),
        ]);
      }
    }
    expect(await stored()).toEqual(before);
  });

  it('lets everybody do what they have the right for', async () => {
    await fill();
    const gateway = await open(kind);
    for (const { name, right, path, sent } of requestsFor('jobs')) {
      const { status } = await gateway.as(right as TestGateway['caller']).send(path, sent);
      // What was removed by then is not found.
      expect([name, status < 300 || status === 404]).toEqual([name, true]);
    }
  });

  it('shows nothing of a topic that is served to others, or to nobody', async () => {
    const stored = await fill();
    const before = await stored();
    const gateway = await open(kind);
    expect(await gateway.ok('/v1/topics')).toEqual({ topics: ['jobs', 'mail'] });
    expect(await gateway.as('publish').ok('/v1/topics')).toEqual({ topics: [] });
    expect(await gateway.ok('/v1/schedules')).toMatchObject({ schedules: [{ id: 'jobs-daily' }] });
    for (const topic of ['secret', 'unheard-of']) {
      for (const { name, path, sent } of requestsFor(topic)) {
        if (LISTS.has(name)) continue;
        const { status, content } = await gateway.send(path, sent);
        expect([name, status >= 400, JSON.stringify(content).includes('content')]).toEqual([name, true, false]);
      }
    }
    // Whose id it is is not said either.
    const { content } = await gateway.send('/v1/schedules/secret-daily', {
      method: 'PUT',
      body: { topic: 'jobs', payload: 1, every: '1h' },
    });
    expect(content).toMatchObject({ code: 'INVALID_ARGUMENT', detail: expect.not.stringContaining("topic 'secret'") });
    expect(await stored()).toEqual(before);
  });

  it('tells of schedules as far as it can, and names no topic to whoever may not read it', async () => {
    await fill();
    const gateway = await open(kind);
    await bed.redis.hset(new StoreKeys(bed.prefix).topic('secret').config, 'protocol', 99);
    expect(await gateway.ok('/v1/schedules')).toMatchObject({ schedules: [{ id: 'jobs-daily' }], failed: [] });
    for (const method of ['GET', 'DELETE']) {
      expect(await gateway.refusal('/v1/schedules/secret-daily', { method })).toEqual([404, 'SCHEDULE_NOT_FOUND']);
    }
    const put = await gateway.send('/v1/schedules/secret-daily', {
      method: 'PUT',
      body: { topic: 'jobs', payload: 1, every: '1h' },
    });
    expect([put.status, JSON.stringify(put.content)]).toEqual([400, expect.not.stringContaining("secret'")]);
  });

  it('refuses what a page of another site can make a browser send', async () => {
    await fill();
    const gateway = await open(kind);
    const run = async (told: Record<string, string>) =>
      gateway.send('/v1/schedules/jobs-daily/run', {
        method: 'POST',
        headers: { 'content-type': 'text/plain', ...told },
      });
    // The first is told to https and localhost alone.
    for (const told of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'http://evil.example' }]) {
      expect(await run(told)).toMatchObject({ status: 403, content: { code: 'FORBIDDEN' } });
    }
    expect((await run({ origin: gateway.url })).status).toBe(200);
  });
});

describe('the standalone gateway', () => {
  it('answers nothing but its document and its health without a token that it knows', async () => {
    const gateway = await open('standalone');
    for (const { name, path, sent } of requestsFor('jobs')) {
      for (const authorization of ['Bearer al', 'Bearer all2', 'Basic all', 'Bearer']) {
        const { status, headers, content } = await gateway.send(path, { ...sent, headers: { authorization } });
        expect([name, status, content['code'], headers.get('www-authenticate')]).toEqual([
          name,
          401,
          'UNAUTHORIZED',
          'Bearer',
        ]);
      }
    }
    const headers = { authorization: '' };
    expect(await gateway.ok('/health', { headers })).toEqual({ status: 'up' });
    expect(await gateway.ok('/openapi.json', { headers })).toMatchObject({ openapi: '3.1.0' });
  });

  it('lets this machine do everything if it has no tokens, and no page that a browser shows', async () => {
    const gateway = await open('standalone', { tokens: [] });
    expect(await gateway.ok('/v1/topics')).toEqual({ topics: ['jobs', 'mail', 'secret'] });
    const foreign = ['https://evil.example', 'null', 'http://localhost:1'];
    for (const origin of foreign) expect((await gateway.send('/v1/topics', { headers: { origin } })).status).toBe(403);
    for (const header of ['x-forwarded-for', 'forwarded', 'via']) {
      expect((await gateway.send('/v1/topics', { headers: { [header]: 'a.proxy' } })).status).toBe(403);
    }
    expect(await statusWithHost(gateway.url, 'evil.example')).toBe(403);
    expect(await statusWithHost(gateway.url, 'localhost')).toBe(200);
  });
});

/** `fetch()` lets nobody choose this header. */
async function statusWithHost(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(`${url}/v1/topics`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).once('error', reject);
  });
}

/** Of Express and Fastify alike. */
interface Answering {
  header(name: string, value: string): unknown;
}

function setHeaders(_: unknown, response: Answering, next: () => void): void {
  response.header('x-request-id', 'r-1');
  response.header('content-type', 'text/html');
  next();
}

/** The instance of Fastify. */
interface Hooked {
  addHook(name: string, hook: typeof setHeaders): unknown;
}

describe.each(['Express', 'Fastify'] as const)('the gateway in an application (%s)', (kind) => {
  it('is below its path and the prefix, whatever the versioning, and documents that', async () => {
    const gateway = await open(kind, {
      module: { path: 'queues' },
      prepare: (nest) =>
        nest.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI, defaultVersion: '7' }),
    });
    expect(await gateway.ok('/api/queues/v1/topics')).toEqual({ topics: ['jobs', 'mail'] });
    await gateway.ok('/api/queues/v1/topics/jobs/messages', { body: { payload: 1, id: 'a/b' } });
    expect(await gateway.ok('/api/queues/v1/topics/jobs/messages/a%2Fb')).toMatchObject({ id: 'a/b' });
    expect(await gateway.ok('/api/queues/openapi.json')).toMatchObject({ servers: [{ url: '/api/queues' }] });
    expect((await fetch(`${gateway.url}/v1/topics`)).status).toBe(404);
  });

  it('leaves to the application what the application serves beside it', async () => {
    @Controller({ path: 'customers/:id', version: '1' })
    class Customers {
      @Get()
      find(): string {
        return 'ann';
      }
    }
    @Module({ controllers: [Customers] })
    class CustomersModule {}
    const gateway = await open(kind, {
      imports: [CustomersModule],
      prepare: (nest) => nest.enableVersioning({ type: VersioningType.URI }),
    });
    expect(await (await fetch(`${gateway.url}/v1/customers/7`)).text()).toBe('ann');
    expect(await gateway.ok('/v1/topics')).toEqual({ topics: ['jobs', 'mail'] });
  });

  it('sends along what the application has set, below its own', async () => {
    const gateway = await open(kind, {
      prepare: (nest) => {
        if (kind === 'Express') nest.use(setHeaders);
        else (nest.getHttpAdapter().getInstance() as Hooked).addHook('onRequest', setHeaders);
      },
    });
    const { headers } = await gateway.send('/v1/topics');
    expect([headers.get('x-request-id'), headers.get('content-type')]).toEqual([
      'r-1',
      'application/json; charset=utf-8',
    ]);
  });

  it('says which schedules cannot be told now', async () => {
    await fill();
    await bed.redis.hset(new StoreKeys(bed.prefix).topic('jobs').config, 'protocol', 99);
    const gateway = await open(kind);
    const error = { status: 409, code: 'CONFIGURATION' };
    expect(await gateway.ok('/v1/schedules')).toMatchObject({
      schedules: [],
      failed: [{ topic: 'jobs', ids: ['jobs-daily'], error }],
    });
    expect(await gateway.refusal('/v1/schedules?topic=jobs')).toEqual([409, 'CONFIGURATION']);
  });

  it('asks the guards of the application too', async () => {
    let calls = 0;
    const gateway = await open(kind, { prepare: (nest) => nest.useGlobalGuards({ canActivate: () => ++calls > 1 }) });
    expect((await gateway.send('/v1/topics')).status).toBe(403);
    expect((await gateway.send('/v1/topics')).status).toBe(200);
  });

  it('answers what access throws, or wrongly answers, with an error of the application', async () => {
    const answers: (() => unknown)[] = [
      () => {
        throw new UnauthorizedException();
      },
      () => 'yes',
      () => undefined,
    ];
    const gateway = await open(kind, { module: { access: () => answers.shift()?.() as boolean } });
    const statuses = [];
    while (answers.length > 0) statuses.push((await gateway.send('/v1/topics/jobs/stats')).status);
    expect(statuses).toEqual([401, 500, 500]);
  });
});

const access = (): boolean => true;

describe('DelayQueueGatewayModule.forRoot()', () => {
  const topics = ['jobs'];

  it.each([
    [{ topics }, "needs the option 'access'"],
    [{ topics, access: true }, "needs the option 'access'"],
    [{ access }, 'topics must be an array'],
    [{ access, topics: [] }, 'topics must be an array'],
    [{ access, topics: ['a b'] }, 'A topic must be'],
    [{ access, topics: ['a', 'a'] }, "topics has 'a' twice"],
    [{ access, topics, path: '/x?' }, 'path must be a path'],
    [{ access, topics, maxWaiting: 0 }, 'maxWaiting must be a whole number'],
    [{ access, topics, maxBody: '1mb' }, 'maxBody must be a whole number'],
    [{ access, topics, acess: 1 }, "There is no option 'acess'"],
  ])('refuses %j', (options, message) => {
    const forRoot = () => DelayQueueGatewayModule.forRoot(options as unknown as DelayQueueGatewayOptions);
    expect(forRoot).toThrow(ConfigurationError);
    expect(forRoot).toThrow(message);
  });
});
