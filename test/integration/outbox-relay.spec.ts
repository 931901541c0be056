import { DelayQueueAdmin } from 'nestjs-delay-queue';
import type { OutboxAdapter } from 'nestjs-delay-queue/outbox';
import { DelayQueueOutboxModule } from 'nestjs-delay-queue/outbox';
import { expect, it, vi } from 'vitest';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { brokerOf } from '../support/internals.js';
import { useDatabase } from '../support/outbox/database.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();
const database = useDatabase();

/** Whether a statement of a relay gets through: so a crash, or a pause, is played at any place. */
type Gets = (sql: string) => boolean;

async function startRelay(gets: Gets = () => true): Promise<RunningApp> {
  const adapter: OutboxAdapter = {
    ...database.adapter,
    query: async (sql, parameters) => {
      if (!gets(sql)) throw new Error('the database is away');
      return database.adapter.query(sql, parameters);
    },
  };
  return bed.start({ imports: [DelayQueueOutboxModule.forRoot({ adapter })], providers: [Jobs] });
}

async function publish({ producer }: RunningApp, ids: readonly string[], options: object = {}): Promise<void> {
  await database.transaction(async () =>
    producer.publishMany(
      'jobs',
      ids.map((id) => ({ payload: 1, options: { id, ...options } })),
    ),
  );
}

const IDS = Array.from({ length: 50 }, (_, i) => `m${i}`);

it('does nothing twice if a relay dies before it has removed what Redis has confirmed, however late another goes on', async () => {
  let isDead = false;
  const first = await startRelay((sql) => !isDead && !(isDead = sql.includes('DELETE')));
  await publish(first, IDS);
  await eventually(() => expect(first.get(Jobs).ids).toHaveLength(IDS.length));
  await eventually(async () =>
    expect(await first.get(DelayQueueAdmin).stats('jobs')).toMatchObject({ counters: { acked: IDS.length } }),
  );
  await first.close();
  expect(await database.waiting()).toBe(IDS.length);
  // As long as that Redis remembers what it has done.
  const answers = (await bed.keys()).filter((key) => key.includes('outbox:') && key.includes(':publish:'));
  const times = await Promise.all(answers.map(async (key) => bed.redis.pttl(key)));
  expect(Math.min(...times) / 86_400_000).toBeCloseTo(7, 1);

  await database.endLeases();
  const second = await startRelay();
  await eventually(async () => expect(await database.waiting()).toBe(0));
  expect(await second.get(DelayQueueAdmin).stats('jobs')).toMatchObject({
    counters: { published: IDS.length, acked: IDS.length },
  });
  expect(second.get(Jobs).ids).toEqual([]);
});

it('sets aside what was refused if a relay dies just before that', async () => {
  const first = await startRelay((sql) => !/^UPDATE "public"."delay_queue_outbox" SET shard/.test(sql));
  await first.producer.publish('jobs', 1, { id: 'm7', delay: '1h' });
  await publish(first, IDS, { delay: '1h' });
  await eventually(async () => expect(await database.waiting()).toBe(1));
  await first.close();
  await database.endLeases();
  const second = await startRelay();
  await eventually(async () => expect(await database.waiting()).toBe(0));
  expect(await database.query('SELECT message_id FROM delay_queue_outbox')).toEqual([{ message_id: 'm7' }]);
  expect(await second.get(DelayQueueAdmin).stats('jobs')).toMatchObject({ counters: { published: IDS.length } });
});

it('removes nothing and sends nothing more once another relay has taken its shards', async () => {
  let isPaused = false;
  const first = await startRelay((sql) => !(isPaused && /DELETE|SET lease/.test(sql)));
  await eventually(async () => {
    const owners = await database.query('SELECT DISTINCT owner FROM delay_queue_outbox_shards WHERE owner IS NOT NULL');
    expect(owners).toHaveLength(1);
  });
  isPaused = true;
  await publish(first, IDS, { delay: '1h' });
  await eventually(() => expect(first.logs.warnings).toContainEqual(expect.stringMatching(/outbox waits/)));
  await database.endLeases();
  const second = await startRelay();
  await eventually(async () => expect(await database.waiting()).toBe(0));
  await publish(second, ['new'], { delay: '1h' });
  isPaused = false;
  await eventually(async () => expect(await database.waiting()).toBe(0));
  await first.close();
  await publish(second, ['newer'], { delay: '1h' });
  await eventually(async () => expect(await database.waiting()).toBe(0));
  const stats = await second.get(DelayQueueAdmin).stats('jobs');
  expect(stats).toMatchObject({ counters: { published: IDS.length + 2 }, scheduled: IDS.length + 2 });
});

it('tells the relay of another process when a transaction is committed', async () => {
  const relay = await startRelay();
  await eventually(async () => {
    const [row] = await database.query<{ free: number }>(
      'SELECT count(*)::int AS free FROM delay_queue_outbox_shards WHERE lease_until = 0',
    );
    expect(row?.free).toBe(0);
  });
  const other = await startRelay();
  const heard: unknown[] = [];
  // The relay has only a session of its own, and knows that of the other since its first look.
  const tell = vi
    .spyOn(brokerOf(other.nest).fleet, 'tell')
    .mockImplementation(async ({ signal }) => void heard.push(signal.kind));
  await eventually(async () => {
    await publish(other, ['again'], { onDuplicate: 'replace', delay: '1h' });
    expect(heard).toContain('outbox');
  });
  tell.mockRestore();
  await eventually(async () => expect(await database.waiting()).toBe(0));
  relay.events.published.past.length = 0;
  await publish(other, IDS, { delay: '1h' });
  await eventually(async () => expect(await database.waiting()).toBe(0));
  const { past } = relay.events.published;
  expect(past).toHaveLength(IDS.length);
});

it('takes what another has left, and gives back its shards at a shutdown', async () => {
  const first = await startRelay();
  await publish(first, ['a'], { delay: '1h' });
  await eventually(async () => expect(await database.waiting()).toBe(0));
  await first.close();
  const shards = await database.query('SELECT lease_until::int AS until FROM delay_queue_outbox_shards');
  expect(shards).toEqual([0, 1, 2, 3].map(() => ({ until: 0 })));
});

it('does not deliver what is due already and was moved or cancelled since', async () => {
  let isAway = true;
  const app = await startRelay((sql) => !(isAway && sql.includes('UPDATE')));
  await publish(app, ['cancelled', 'moved', 'both', 'stays']);
  await database.transaction(async () => {
    const { producer } = app;
    await producer.cancel('jobs', 'cancelled');
    await producer.reschedule('jobs', 'moved', { delay: '1h' });
    await producer.reschedule('jobs', 'both', { delay: '1h' });
    await producer.cancel('jobs', 'both');
  });
  isAway = false;
  await eventually(async () => expect(await database.waiting()).toBe(0));
  await eventually(() => expect(app.get(Jobs).ids).toEqual(['stays']));
  const { messages } = await app.get(DelayQueueAdmin).peek('jobs', 'scheduled');
  expect(messages.map(({ id }) => id)).toEqual(['moved']);
});

it('sends more than a batch, and a batch that is large', async () => {
  const app = await startRelay();
  const payload = 'x'.repeat(300_000);
  await database.transaction(async () => {
    for (let i = 0; i < 5; i++) await app.producer.publish('jobs', payload, { key: 'k', delay: '1h' });
    await app.producer.publishMany(
      'jobs',
      Array.from({ length: 1200 }, () => ({ payload: 1, options: { delay: '1h' } })),
    );
  });
  await eventually(async () => expect(await app.get(DelayQueueAdmin).stats('jobs')).toMatchObject({ scheduled: 1205 }));
  await eventually(async () => expect(await database.waiting()).toBe(0));
});
