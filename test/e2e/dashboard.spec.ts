import { VersioningType } from '@nestjs/common';
import { type DoctorReport, createDelayQueueAdmin } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../lib/dashboard/operations.js';
import type { Overview } from '../../lib/dashboard/overview.js';
import type { Told } from '../../lib/dashboard/watched-look.js';
import { serveDashboard } from '../../lib/dashboard/serve-dashboard.js';
import { useBed } from '../support/app/bed.js';
import { OWN_HEADERS, type TestDashboard, openDashboard } from '../support/app/dashboard.js';
import { LogBook } from '../support/app/log-book.js';
import { Jobs } from '../support/app/jobs.js';
import { HTTP_PLATFORMS } from '../support/app/platforms.js';
import { RedisKeys } from '../support/internals.js';
import { startRedis } from '../support/servers/redis-server.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

/** Publishes messages that fail, and waits until they are dead. */
async function kill({ app }: TestDashboard, count: number): Promise<void> {
  app.get(Jobs).respond = () => {
    throw new Error('no');
  };
  for (let i = 0; i < count; i++) await app.producer.publish('jobs', { secret: i }, { id: `dead-${i}` });
  await app.events.dead.take(count);
}

/** What is wrong with topics, whatever the doctor says of the Redis of all tests. */
function ofTopics(problems: Overview['problems']): Overview['problems'] {
  return problems.filter(({ kind }) => kind !== 'redis');
}

async function ended(dashboard: TestDashboard, id: string): Promise<Operation> {
  return eventually(async () => {
    const { operations } = await dashboard.get<{ operations: Operation[] }>('api/operations');
    const operation = operations.find((one) => one.id === id);
    if (!operation || operation.state === 'running') throw new Error(`It is ${operation?.state}.`);
    return operation;
  });
}

describe.each(HTTP_PLATFORMS)('the dashboard on %s', (platform) => {
  it('is found below a global prefix, with versioning switched on', async () => {
    const dashboard = await openDashboard(bed, {
      platform,
      at: '/shop/v1/queues/',
      prepare: (nest) => nest.setGlobalPrefix('shop/v1').enableVersioning({ type: VersioningType.URI }),
    });
    expect(await dashboard.get('api/session')).toMatchObject({ right: 'operate', actor: 'ann' });
    const bare = await dashboard.fetch('../queues');
    expect([bare.status, new URL(bare.headers.get('location') ?? '', bare.url).href]).toEqual([
      308,
      `${dashboard.url}index.html`,
    ]);
  });

  it('shows the topics, and says what is wrong', async () => {
    const dashboard = await openDashboard(bed, { platform });
    await kill(dashboard, 1);
    await dashboard.app.producer.publish('jobs', 1, { delay: '1h' });
    await dashboard.app.producer.publish('nobody', 1, { delay: '1h' });
    const { topics, problems } = await dashboard.get<Overview>('api/overview');
    expect(topics).toMatchObject([
      { topic: 'jobs', scheduled: 1, dead: 1, unowned: 0, handlers: 1, partitions: 2 },
      { topic: 'nobody', scheduled: 1, dead: 0, unowned: 2, handlers: 0 },
    ]);
    expect(ofTopics(problems)).toEqual([
      { kind: 'dead', topic: 'jobs', count: 1 },
      { kind: 'no-handler', topic: 'nobody', count: 1 },
    ]);
  });

  it('shows the others if a topic cannot be looked at', async () => {
    const dashboard = await openDashboard(bed, { platform });
    const keys = new RedisKeys(bed.prefix);
    await bed.redis.hset(keys.fleet.topics, 'broken', 'nonsense');
    await bed.redis.hset(keys.topic('broken').config, { partitions: 'many', protocol: '2' });
    await dashboard.app.producer.publish('jobs', 1, { delay: '1h' });
    const { topics, problems } = await dashboard.get<Overview>('api/overview');
    expect(topics).toMatchObject([{ topic: 'jobs', scheduled: 1 }]);
    expect(ofTopics(problems)).toEqual([{ kind: 'unreachable', topic: 'broken', count: 0 }]);
  });

  it('acts on a message and writes down who did it', async () => {
    const dashboard = await openDashboard(bed, { platform });
    const place = { topic: 'jobs', id: 'a' };
    await dashboard.app.producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    expect(await dashboard.post('api/edit', { ...place, payload: { b: 2 } })).toEqual({ changed: true });
    expect(await dashboard.post('api/reschedule', { ...place, delay: '2h' })).toEqual({ changed: true });
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

  it('requeues many dead letters after a count, and stops when it is told to', async () => {
    const dashboard = await openDashboard(bed, { platform });
    await kill(dashboard, 6);
    const { groups } = await dashboard.get<{ groups: { fingerprint: string }[] }>('api/dead?topic=jobs');
    const about = { topic: 'jobs', filter: { fingerprint: groups[0]?.fingerprint } };
    expect(await dashboard.post('api/dead/requeue', { ...about, dryRun: true })).toMatchObject({
      matched: 6,
      requeued: 0,
    });
    dashboard.app.get(Jobs).respond = () => undefined;
    const slow = await dashboard.post<{ operation: Operation }>('api/dead/requeue', {
      ...about,
      dryRun: false,
      rate: 0.5,
      total: 6,
    });
    await dashboard.app.events.acked.first();
    await dashboard.post('api/operations/stop', { id: slow.operation.id });
    expect(await ended(dashboard, slow.operation.id)).toMatchObject({
      state: 'stopped',
      total: 6,
      result: { aborted: true },
    });
    const rest = await dashboard.post<{ operation: Operation }>('api/dead/requeue', { ...about, dryRun: false });
    expect(await ended(dashboard, rest.operation.id)).toMatchObject({ state: 'done', actor: 'ann' });
    expect(await dashboard.get('api/topic?topic=jobs')).toMatchObject({ dead: 0 });
  });

  it('shows what is left once work on many has ended, and not what was there while it went on', async () => {
    const dashboard = await openDashboard(bed, { platform });
    await kill(dashboard, 6);
    const { operation } = await dashboard.post<{ operation: Operation }>('api/dead/remove', {
      topic: 'jobs',
      filter: {},
      dryRun: false,
      rate: 20,
    });
    expect(await dashboard.get('api/topic?topic=jobs')).not.toMatchObject({ dead: 0 });
    await ended(dashboard, operation.id);
    expect(await dashboard.get('api/topic?topic=jobs')).toMatchObject({ dead: 0 });
  });

  it('shows what a serializer has made, and stores none of the words that stand for it', async () => {
    const serializer = {
      serialize: (value: unknown) => value,
      deserialize: (json: unknown) =>
        json === 'plain' ? { as: ['it', 'is'] } : { amount: 12n, prices: new Map([['tea', 3]]) },
    };
    const dashboard = await openDashboard(bed, { platform, options: { serializer } });
    await dashboard.app.producer.publish('jobs', 'other', { id: 'other', delay: '1h' });
    await dashboard.app.producer.publish('jobs', 'plain', { id: 'plain', delay: '2h' });
    const { messages } = await dashboard.get<{ messages: object[] }>('api/messages?topic=jobs&state=scheduled');
    expect(messages).toMatchObject([
      { payload: { amount: '12n', prices: "Map(1) { 'tea' => 3 }" }, editable: false },
      { payload: { as: ['it', 'is'] }, editable: true },
    ]);
    const edit = async (id: string) => dashboard.post('api/edit', { topic: 'jobs', id, payload: 'new' });
    await expect(edit('other')).rejects.toThrow(/^409: .*NOT_EDITABLE/);
    expect(await edit('plain')).toEqual({ changed: true });
  });

  it('cuts the agenda from now on, by the clock of Redis', async () => {
    const dashboard = await openDashboard(bed, { platform });
    await dashboard.app.producer.publish('jobs', 1, { delay: '30s' });
    const { at } = await dashboard.get<{ at: string }>('api/clock');
    const { from, to, buckets } = await dashboard.get<Record<'from' | 'to', string> & { buckets: { count: number }[] }>(
      'api/agenda?topic=jobs&span=60000',
    );
    expect(Math.abs(Date.parse(from) - Date.parse(at))).toBeLessThanOrEqual(5000);
    expect([Date.parse(from) % 1000, Date.parse(to) - Date.parse(from), buckets.length]).toEqual([0, 60_000, 60]);
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(1);
  });

  it('purges a topic only if its name is typed', async () => {
    const dashboard = await openDashboard(bed, { platform });
    await kill(dashboard, 2);
    expect(await dashboard.post('api/purge', { topic: 'jobs', dryRun: true })).toEqual({ matched: 2, removed: 0 });
    await expect(dashboard.post('api/purge', { topic: 'jobs', dryRun: false, confirm: 'job' })).rejects.toThrow('400');
    await expect(dashboard.post('api/purge', { topic: 'jobs', confirm: 'jobs' })).rejects.toThrow('dryRun');
    const { operation } = await dashboard.post<{ operation: Operation }>('api/purge', {
      topic: 'jobs',
      dryRun: false,
      confirm: 'jobs',
    });
    expect(await ended(dashboard, operation.id)).toMatchObject({ state: 'done', result: { removed: 2 } });
  });

  it('shows of payloads what redact leaves', async () => {
    const dashboard = await openDashboard(bed, {
      platform,
      redact: (payload) => {
        if (payload === 'bad') throw new Error('no');
        return { ...(payload as object), secret: '***' };
      },
    });
    await dashboard.app.producer.publish('jobs', { secret: 'hunter2', n: 1 }, { id: 'a', delay: '1h' });
    await dashboard.app.producer.publish('jobs', 'bad', { id: 'b', delay: '2h' });
    const { messages } = await dashboard.get<{ messages: object[] }>('api/messages?topic=jobs&state=scheduled');
    expect(messages).toMatchObject([
      { payload: { secret: '***', n: 1 }, redacted: true },
      { payload: '(hidden: redact has failed)', redacted: true },
    ]);
    expect(JSON.stringify(messages)).not.toContain('hunter2');
    await expect(dashboard.post('api/edit', { topic: 'jobs', id: 'a', payload: { n: 2 } })).rejects.toThrow(/^409: /);
    expect(await (await dashboard.fetch('api/message?topic=jobs&id=a')).text()).not.toContain('hunter2');
  });

  it('sends a policy without exceptions, and says what is wrong with a question', async () => {
    const dashboard = await openDashboard(bed, { platform });
    for (const [path, status] of [
      ['api/session', 200],
      ['api/topic', 400],
      ['api/agenda?topic=jobs&from=x&to=1', 400],
      ['api/agenda?topic=jobs', 400],
      ['api/watch', 400],
      ['api/watch?look=api/overview&look=api/nothing', 404],
      [`api/watch?${'look=api/overview&'.repeat(11)}`, 400],
      ['api/messages?topic=jobs&state=new', 400],
      ['api/nothing', 404],
      ['../queues/..%2fpackage.json', 404],
    ] as const) {
      const response = await dashboard.fetch(path);
      expect([path, response.status]).toEqual([path, status]);
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/^default-src 'none';/);
      expect(policy).not.toContain('unsafe');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });
});

it('tells all that a page shows in one stream, events as they come too, and ends with the application', async () => {
  const dashboard = await openDashboard(bed, { options: { fleetEvents: true } });
  const looks = ['api/topic?topic=jobs', 'api/message?topic=jobs', 'api/live?topic=jobs&kind=acked'];
  const response = await dashboard.fetch(
    `api/watch?${looks.map((look) => `look=${encodeURIComponent(look)}`).join('&')}`,
  );
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const told = (look: number): Told | undefined =>
    text
      .split('\n\n')
      .slice(0, -1)
      .flatMap((one) => (one.startsWith('data: ') ? [JSON.parse(one.slice('data: '.length)) as Told] : []))
      .find((one) => one.look === look);
  // Each follows only what comes after it has begun to listen.
  const publishing = setInterval(() => void dashboard.app.producer.publish('jobs', 1), 50);
  try {
    while (!told(2)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`The stream has ended: ${text}`);
      text += value;
    }
  } finally {
    clearInterval(publishing);
  }
  expect(told(0)).toMatchObject({ answer: { topic: 'jobs', handlers: [expect.any(String)] } });
  expect(told(1)).toMatchObject({ error: { code: 'INVALID_ARGUMENT' } });
  expect(told(2)).toMatchObject({ answer: { kind: 'acked', topic: 'jobs' } });
  await dashboard.app.close();
  while (!(await reader.read()).done);
});

it('says in the overview what the doctor finds wrong with Redis', async () => {
  const redis = await startRedis(['--maxmemory-policy', 'allkeys-lru', '--maxmemory', '1gb']);
  try {
    const dashboard = await openDashboard(bed, { options: { redis: redis.url } });
    const { problems } = await dashboard.get<Overview>('api/overview');
    expect(problems).toContainEqual({
      kind: 'redis',
      check: 'eviction',
      message: expect.stringContaining("'allkeys-lru'"),
    });
    await dashboard.app.close();
  } finally {
    await redis.stop();
  }
});

describe('serveDashboard()', () => {
  it('serves this machine alone, with the token, and only reads unless it may operate', async () => {
    const log = new LogBook();
    const admin = await createDelayQueueAdmin({ redis: bed.connection, prefix: bed.prefix, log });
    const queues = { admin, schedules: admin.schedules, events: admin.events };
    const served = await serveDashboard({ queues, port: 0, operate: false, log });
    try {
      expect(new URL(served.url).hostname).toBe('127.0.0.1');
      expect(await (await fetch(`${served.url}api/session`)).json()).toMatchObject({ right: 'read' });
      for (const path of ['/', '/api/session', '/wrong/api/session']) {
        expect((await fetch(new URL(path, served.url))).status).toBe(401);
      }
      const body = JSON.stringify({ topic: 'jobs' });
      const refused = await fetch(`${served.url}api/pause`, { method: 'POST', headers: OWN_HEADERS, body });
      expect(refused.status).toBe(403);
    } finally {
      await served.close();
      await admin.close();
    }
  });

  it('opens without Redis, and says that it is away', async () => {
    const log = new LogBook();
    const redis = await startRedis();
    const admin = await createDelayQueueAdmin({ redis: redis.url, prefix: bed.prefix, timeout: 500, log });
    const queues = { admin, schedules: admin.schedules, events: admin.events };
    const served = await serveDashboard({ queues, port: 0, operate: false, log });
    try {
      await redis.kill();
      expect(await (await fetch(`${served.url}api/session`)).json()).toMatchObject({ right: 'read' });
      const { findings } = (await (await fetch(`${served.url}api/doctor`)).json()) as DoctorReport;
      expect(findings).toMatchObject([{ check: 'connection', level: 'error' }]);
      expect((await fetch(`${served.url}api/clock`)).status).toBe(503);
    } finally {
      await served.close();
      await admin.close();
      await redis.stop();
    }
  });
});
