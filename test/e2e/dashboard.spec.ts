import { DelayQueueSchedules } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../lib/dashboard/operations.js';
import type { Overview } from '../../lib/dashboard/problems.js';
import { useBed } from '../support/app/bed.js';
import { type TestDashboard, openDashboard } from '../support/app/dashboard.js';
import { Jobs } from '../support/app/jobs.js';
import { StoreKeys } from '../support/internals.js';
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

describe('the dashboard', () => {
  it('shows the topics, and says what is wrong', async () => {
    const dashboard = await openDashboard(bed);
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
    const dashboard = await openDashboard(bed);
    const keys = new StoreKeys(bed.prefix);
    await bed.redis.hset(keys.fleet.topics, 'broken', 'nonsense');
    await bed.redis.hset(keys.topic('broken').config, { partitions: 'many', protocol: '2' });
    await dashboard.app.producer.publish('jobs', 1, { delay: '1h' });
    const { topics, problems } = await dashboard.get<Overview>('api/overview');
    expect(topics).toMatchObject([{ topic: 'jobs', scheduled: 1 }]);
    expect(ofTopics(problems)).toEqual([{ kind: 'unreachable', topic: 'broken', count: 0 }]);
  });

  it('tells nobody that a schedule cannot be told now who may not see its topic', async () => {
    const other = await bed.start();
    const schedule = { id: 'hidden', topic: 'broken', payload: 1, every: '1h' };
    await other.get(DelayQueueSchedules).upsert(schedule);
    await bed.redis.hset(new StoreKeys(bed.prefix).topic('broken').config, 'protocol', 99);
    const dashboard = await openDashboard(bed);
    const users = [dashboard, dashboard.as({ topics: ['jobs'] })];
    const answers = users.map(async (user) => (await user.fetch('api/schedule?id=hidden')).status);
    expect(await Promise.all(answers)).toEqual([409, 404]);
  });

  it('requeues many dead letters after a count, and stops when it is told to', async () => {
    const dashboard = await openDashboard(bed);
    await kill(dashboard, 6);
    const { groups } = await dashboard.get<{ groups: { fingerprint: string }[] }>('api/dead?topic=jobs');
    const about = { topic: 'jobs', filter: { fingerprint: groups[0]?.fingerprint } };
    expect(await dashboard.post('api/dead/requeue', { ...about, dryRun: true })).toMatchObject({
      matched: 6,
      changed: 0,
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

  it('counts waiting messages that a filter means, with examples, and then changes them', async () => {
    const dashboard = await openDashboard(bed);
    for (const n of [1, 2, 3, 4, 5]) {
      await dashboard.app.producer.publish('jobs', { n: n % 2 }, { id: `${n}`, delay: '1h', tags: ['late'] });
    }
    const about = { topic: 'jobs', filter: { field: { path: 'n', value: 1 } } };
    const counted = await dashboard.post<{ examples: object[] }>('api/messages/cancel', { ...about, dryRun: true });
    expect(counted).toMatchObject({ matched: 3, changed: 0 });
    expect(counted.examples).toHaveLength(3);
    expect(counted.examples[0]).toMatchObject({ payload: { n: 1 }, redacted: false });
    expect(counted.examples[0]).not.toHaveProperty('raw');
    const began = await dashboard.post<{ operation: Operation }>('api/messages/cancel', {
      ...about,
      dryRun: false,
      total: 3,
    });
    expect(await ended(dashboard, began.operation.id)).toMatchObject({
      action: 'cancel',
      state: 'done',
      total: 3,
      result: { changed: 3 },
    });
    const late = { topic: 'jobs', filter: { tag: 'late' }, dryRun: false };
    expect((await dashboard.send('api/messages/reschedule', late)).status).toBe(400);
    const moved = await dashboard.post<{ operation: Operation }>('api/messages/reschedule', { ...late, delay: '2h' });
    expect(await ended(dashboard, moved.operation.id)).toMatchObject({ state: 'done', result: { changed: 2 } });
    const run = await dashboard.post<{ operation: Operation }>('api/messages/run-now', { ...late, rate: 1000 });
    expect(await ended(dashboard, run.operation.id)).toMatchObject({ state: 'done', result: { changed: 2 } });
    await dashboard.app.events.acked.take(2);
  });

  it('searches in bounded steps', async () => {
    const dashboard = await openDashboard(bed);
    const messages = Array.from({ length: 60 }, (_, n) => ({
      payload: { order: { id: n } },
      options: { delay: '1h' } as const,
    }));
    await dashboard.app.producer.publishMany('jobs', messages);
    const find = async (query: string) =>
      dashboard.get<{ messages: { payload: unknown }[]; read: number; cursor?: string }>(
        `api/search?topic=jobs&${query}`,
      );
    expect(await find('field=order.id&value=42')).toMatchObject({
      messages: [{ payload: { order: { id: 42 } } }],
      read: 60,
    });
    const first = await find('text=order&state=scheduled');
    expect(first.messages).toHaveLength(50);
    const rest = await find(`text=order&state=scheduled&cursor=${first.cursor}`);
    expect([rest.messages.length, rest.cursor]).toEqual([10, undefined]);
    expect((await dashboard.fetch('api/search?topic=jobs')).status).toBe(400);
  });

  it('shows what is left once work on many has ended, and not what was there while it went on', async () => {
    const dashboard = await openDashboard(bed);
    await kill(dashboard, 6);
    const { operation } = await dashboard.post<{ operation: Operation }>('api/dead/remove', {
      topic: 'jobs',
      filter: { all: true },
      dryRun: false,
      rate: 20,
    });
    expect(await dashboard.get('api/topic?topic=jobs')).not.toMatchObject({ dead: 0 });
    expect(await ended(dashboard, operation.id)).toMatchObject({ state: 'done', result: { changed: 6 } });
    expect(await dashboard.get('api/topic?topic=jobs')).toMatchObject({ dead: 0 });
  });

  it('shows what a serializer has made, and stores none of the words that stand for it', async () => {
    const serializer = {
      serialize: (value: unknown) => value,
      deserialize: (json: unknown) =>
        json === 'plain' ? { as: ['it', 'is'] } : { amount: 12n, prices: new Map([['tea', 3]]) },
    };
    const dashboard = await openDashboard(bed, { options: { serializer } });
    await dashboard.app.producer.publish('jobs', 'other', { id: 'other', delay: '1h' });
    await dashboard.app.producer.publish('jobs', 'plain', { id: 'plain', delay: '2h' });
    const { messages } = await dashboard.get<{ messages: object[] }>('api/messages?topic=jobs&state=scheduled');
    expect(messages).toMatchObject([
      { payload: { amount: '12n', prices: "Map(1) { 'tea' => 3 }" }, editable: false },
      { payload: { as: ['it', 'is'] }, editable: true },
    ]);
    const edit = async (id: string) => dashboard.post('api/edit', { topic: 'jobs', id, payload: 'new' });
    await expect(edit('other')).rejects.toThrow(/^409: .*NOT_EDITABLE/);
    expect(await edit('plain')).toEqual({ result: 'edited' });
  });

  it('cuts the agenda from now on, by the clock of Redis', async () => {
    const dashboard = await openDashboard(bed);
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
    const dashboard = await openDashboard(bed);
    await kill(dashboard, 2);
    expect(await dashboard.post('api/purge', { topic: 'jobs', dryRun: true })).toMatchObject({
      matched: 2,
      changed: 0,
      examples: [{ id: 'dead-0' }, { id: 'dead-1' }],
    });
    await expect(dashboard.post('api/purge', { topic: 'jobs', dryRun: false, confirm: 'job' })).rejects.toThrow('400');
    await expect(dashboard.post('api/purge', { topic: 'jobs', confirm: 'jobs' })).rejects.toThrow('dryRun');
    const { operation } = await dashboard.post<{ operation: Operation }>('api/purge', {
      topic: 'jobs',
      dryRun: false,
      confirm: 'jobs',
    });
    expect(await ended(dashboard, operation.id)).toMatchObject({ state: 'done', result: { changed: 2 } });
  });

  it('shows of payloads what redact leaves', async () => {
    const dashboard = await openDashboard(bed, {
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
    // Nor is it told by trial.
    const found = async (text: string) => dashboard.get(`api/search?topic=jobs&state=scheduled&text=${text}`);
    expect(await found('hunter')).toMatchObject({ messages: [], read: 2 });
    expect(await found('secret')).toMatchObject({ messages: [{ id: 'a' }], read: 2 });
    const byText = { topic: 'jobs', filter: { text: 'hunter' }, dryRun: true };
    await expect(dashboard.post('api/messages/cancel', byText)).rejects.toThrow(/^403: /);
    expect(await (await dashboard.fetch('api/message?topic=jobs&id=a')).text()).not.toContain('hunter2');
  });

  it('sends a policy without exceptions, and says what is wrong with a question', async () => {
    const dashboard = await openDashboard(bed);
    for (const [path, status] of [
      ['api/session', 200],
      ['api/topic', 400],
      ['api/topic?topic=never-used', 404],
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
