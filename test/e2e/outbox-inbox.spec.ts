import { Injectable } from '@nestjs/common';
import { ConfigurationError, DelayedHandler, type DelayedMessage, DelayQueueAdmin } from 'nestjs-delay-queue';
import { DelayQueueOutboxModule, type OutboxAdapter } from 'nestjs-delay-queue/outbox';
import { beforeEach, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { Recorder } from '../support/app/recorder.js';
import { useDatabase } from '../support/outbox/database.js';
import { Gate, eventually } from '../support/waiting.js';

const bed = useBed();
const database = useDatabase();

@Injectable()
class Orders extends Recorder {
  @DelayedHandler('orders', { inbox: true, attempts: 5, backoff: { type: 'fixed', delay: '50ms' }, timeout: '1s' })
  async work(payload: unknown, message: DelayedMessage): Promise<unknown> {
    return this.take(payload, message);
  }
}

beforeEach(async () => {
  await database.run('DROP TABLE IF EXISTS effects; CREATE TABLE effects (id text)');
});

/** As most drivers, it does not tell that a commit was none, since a statement had failed. */
const adapter: OutboxAdapter = {
  ...database.adapter,
  transaction: async (run) =>
    database.adapter.transaction(run).catch((error: Error) => {
      if (!error.message.includes('rolled back instead of committed')) throw error;
    }),
};

const outbox = () => DelayQueueOutboxModule.forRoot({ adapter });

async function start(): Promise<RunningApp & { readonly orders: Orders }> {
  const app = await bed.start({ imports: [outbox()], providers: [Orders, Jobs] });
  const orders = app.get(Orders);
  orders.respond = async (_, message) => effect(message);
  return Object.assign(app, { orders });
}

/** As the database gives up a transaction for another. */
function conflict(code: string): Error {
  return Object.assign(new Error('given up'), { code });
}

/** What the handler does in the transaction that it is handed. */
async function effect({ id, transaction }: DelayedMessage): Promise<void> {
  await database.adapter.of(transaction)?.query('INSERT INTO effects VALUES ($1)', [id]);
}

async function effects(): Promise<string[]> {
  const rows = await database.query<{ id: string }>('SELECT id FROM effects ORDER BY id');
  return rows.map(({ id }) => id);
}

/** Resolves once nothing of the topic is left in Redis or on its way there. */
async function settled(app: RunningApp): Promise<void> {
  await eventually(async () => {
    expect(await database.waiting()).toBe(0);
    const { scheduled, inFlight } = await app.get(DelayQueueAdmin).stats('orders');
    expect([scheduled, inFlight]).toEqual([0, 0]);
  });
}

it('handles a message in a transaction, and what it publishes there is part of it', async () => {
  const app = await start();
  app.orders.respond = async (_, message) => {
    await effect(message);
    await app.producer.publish('jobs', 1, { id: `after attempt ${message.attempt}` });
    if (message.attempt < 3) throw new Error('not yet');
  };
  await app.producer.publish('orders', 1, { id: 'a' });
  await eventually(() => expect(app.get(Jobs).ids).toEqual(['after attempt 3']));
  await settled(app);
  expect(await effects()).toEqual(['a']);
  expect(app.orders.ids).toEqual(['a', 'a', 'a']);
});

it('does not call the handler for a message that was handled, until it is published again', async () => {
  const app = await start();
  for (const publish of [1, 2]) {
    await database.transaction(async () => app.producer.publish('orders', publish, { id: 'a', key: 'k' }));
    await app.orders.called(publish);
    await settled(app);
  }
  // As after a crash behind the commit: the message is there, and so is its record.
  for (const { message } of app.orders.calls.toReversed()) {
    const body = JSON.stringify({ envelope: `[${message.publishedAt.getTime()},"again"]`, onDuplicate: 'reject' });
    await database.query(
      "INSERT INTO delay_queue_outbox (shard, kind, topic, message_key, message_id, due_at, body) VALUES (0, 1, 'orders', 'k', 'a', 0, $1)",
      [body],
    );
    await settled(app);
  }
  expect(app.orders.calls.map(({ payload }) => payload)).toEqual([1, 2]);
  expect(await effects()).toEqual(['a', 'a']);
});

it('decides between a cancel and the handling: the first commit wins', async () => {
  const app = await start();
  await database.transaction(async () => {
    await app.producer.publishMany('orders', [
      { payload: 1, options: { id: 'a', delay: '1h' } },
      { payload: 1, options: { id: 'b', key: 'k' } },
    ]);
  });
  await app.orders.called();
  await database.transaction(async () => {
    expect(await app.producer.cancel('orders', 'a')).toBe('cancelled');
    expect(await app.producer.cancel('orders', 'a')).toBe('cancelled');
    expect(await app.producer.reschedule('orders', 'a', { delay: 0 })).toBe('not-found');
    expect(await app.producer.cancel('orders', 'b')).toBe('done');
    expect(await app.producer.reschedule('orders', { id: 'b', key: 'k' }, { delay: 0 })).toBe('done');
    expect(await app.producer.cancel('jobs', 'b')).toEqual({ outbox: true });
  });
  await settled(app);
  expect(await effects()).toEqual(['b']);
});

it('tells publishes of one id apart by the database, whatever clocks say', async () => {
  const app = await start();
  const published = Date.now() + 60_000;
  await database.query(
    "INSERT INTO delay_queue_inbox (message_id, topic, message_key, published, touched_at) VALUES ('a', 'orders', 'a', $1, $1)",
    [published],
  );
  await database.transaction(async () => {
    await app.producer.publish('orders', 'cancelled', { id: 'a' });
    expect(await app.producer.cancel('orders', 'a')).toBe('cancelled');
    await app.producer.publish('orders', 'kept', { id: 'a' });
  });
  const [{ payload, message }] = (await app.orders.called()) as [Orders['calls'][number]];
  expect([payload, message.publishedAt.getTime()]).toEqual(['kept', published + 2]);
});

it('calls no handler for what was delivered, but cancelled first', async () => {
  const app = await start();
  await database.transaction(async () => app.producer.publish('orders', 1, { id: 'in', delay: '200ms' }));
  await app.producer.publish('orders', 1, { id: 'direct', delay: '200ms' });
  await eventually(async () => expect(await database.waiting()).toBe(0));
  await database.transaction(async () => {
    // The handling waits for this transaction, since the database has one connection.
    await eventually(async () => {
      expect(await app.get(DelayQueueAdmin).stats('orders')).toMatchObject({ inFlight: 2 });
    });
    expect(await app.producer.cancel('orders', 'in')).toBe('cancelled');
    expect(await app.producer.cancel('orders', 'direct')).toBe('cancelled');
  });
  await settled(app);
  expect([app.orders.ids, await effects()]).toEqual([[], []]);
  await database.transaction(async () => app.producer.publish('orders', 2, { id: 'in' }));
  await app.orders.called();
});

it('handles what was delivered, but moved first, at its new time', async () => {
  const app = await start();
  await database.transaction(async () => app.producer.publish('orders', 1, { id: 'a', delay: '200ms' }));
  await eventually(async () => expect(await database.waiting()).toBe(0));
  const dueAt = await database.transaction(async () => {
    await eventually(async () => {
      expect(await app.get(DelayQueueAdmin).stats('orders')).toMatchObject({ inFlight: 1 });
    });
    const at = new Date(Date.now() + 1000);
    expect(await app.producer.reschedule('orders', 'a', { deliverAt: at })).toBe('moved');
    return at;
  });
  const [call] = await app.orders.called();
  expect(call?.at).toBeGreaterThanOrEqual(dueAt.getTime() - 5);
  expect(call?.message.attempt).toBe(1);
  await settled(app);
  expect(await effects()).toEqual(['a']);
});

it('answers a cancel that waits for the handler', async () => {
  const app = await start();
  const gate = new Gate();
  app.orders.respond = async (_, message) => {
    await effect(message);
    await gate.opened;
  };
  await app.producer.publish('orders', 1, { id: 'a' });
  await app.orders.called();
  const cancelling = database.transaction(async () => app.producer.cancel('orders', 'a'));
  gate.open();
  expect(await cancelling).toBe('done');
  await settled(app);
});

it('rolls back a handler whose time is up, and one that swallows an error of the database', async () => {
  const app = await start();
  app.orders.respond = async (_, message) => {
    await effect(message);
    if (message.attempt > 1) return;
    const failing = database.adapter.of(message.transaction)?.query('SELECT 1 / 0', []);
    await failing?.catch(() => {});
  };
  await app.producer.publish('orders', 1, { id: 'fails' });
  await settled(app);
  expect(await effects()).toEqual(['fails']);
  expect(app.orders.callsOf('fails')).toHaveLength(2);

  const gate = new Gate();
  app.orders.respond = async (_, message) => {
    await effect(message);
    if (message.attempt === 1) await gate.opened;
  };
  await app.producer.publish('orders', 1, { id: 'slow' });
  await app.orders.called(3);
  // Answered once the transaction has ended: there is one connection.
  expect(await effects()).toEqual(['fails']);
  gate.open();
  await settled(app);
  expect(await effects()).toEqual(['fails', 'slow']);
});

it('spends no attempt if the database is away or gives a transaction up for another', async () => {
  const app = await start();
  const failures = [conflict('40P01'), Object.assign(new Error('outer'), { driverError: conflict('40001') })];
  app.orders.respond = async (_, message) => {
    const failure = failures.pop();
    if (failure) throw failure;
    await effect(message);
  };
  await app.producer.publish('orders', 1, { id: 'a' });
  const calls = await app.orders.called(3);
  expect(calls.map(({ message }) => message.attempt)).toEqual([1, 1, 1]);

  await settled(app);
  await database.run('ALTER TABLE delay_queue_inbox RENAME TO away');
  await app.producer.publish('orders', 1, { id: 'b' });
  const found = await eventually(async () => {
    const message = await app.get(DelayQueueAdmin).get('orders', 'b');
    expect(message).toMatchObject({ state: 'scheduled', deliveries: 1 });
    return message;
  });
  expect(found?.attempts).toBe(0);
  expect(app.logs.warnings).toContainEqual(expect.stringMatching(/no transaction can be begun/));
  await database.run('ALTER TABLE away RENAME TO delay_queue_inbox');
  await settled(app);
  expect(await effects()).toEqual(['a', 'b']);
});

it('knows of topics whose handlers are elsewhere', async () => {
  const other = await bed.start({ imports: [outbox()], providers: [Jobs] });
  await start();
  await eventually(async () => {
    const result = await database.transaction(async () => other.producer.cancel('orders', 'none'));
    expect(result).toBe('cancelled');
  });
});

it('forgets what nobody has touched for long, but not which topics have an inbox', async () => {
  await database.run(
    `INSERT INTO delay_queue_inbox (message_id, topic, message_key, touched_at)
     SELECT 'old ' || n, 'orders', '', 0 FROM generate_series(1, 2500) AS n;
     INSERT INTO delay_queue_inbox (message_id, topic, message_key, touched_at)
     SELECT 'new', 'orders', '', (extract(epoch FROM now() - interval '6 days') * 1000)::bigint`,
  );
  await start();
  await eventually(async () => {
    const rows = await database.query('SELECT message_id, topic FROM delay_queue_inbox ORDER BY message_id');
    expect(rows).toEqual([
      { message_id: '', topic: 'orders' },
      { message_id: 'new', topic: 'orders' },
    ]);
  });
});

it('refuses handlers that cannot have an inbox', async () => {
  @Injectable()
  class Batches {
    @DelayedHandler('orders', { inbox: true, batch: 2 })
    work(): void {}
  }
  const once = { topics: { orders: { delivery: 'at-most-once' as const } } };
  const setups: [RegExp, Parameters<typeof bed.failingBoot>[0]][] = [
    [/import DelayQueueOutboxModule/, { providers: [Orders] }],
    [/inbox and batch/, { imports: [outbox()], providers: [Batches] }],
    [/delivered at most once/, { imports: [outbox()], providers: [Orders], options: once }],
  ];
  for (const [text, setup] of setups) {
    const error = await bed.failingBoot(setup);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toMatch(text);
  }
});
