import { AsyncResource } from 'node:async_hooks';
import { type DynamicModule, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  ConfigurationError,
  DelayQueueAdmin,
  DelayQueueProducer,
  type DelayQueueModuleOptions,
  InvalidArgumentError,
  TransactionRequiredError,
} from 'nestjs-delay-queue';
import { DelayQueueOutboxModule, type DelayQueueOutboxOptions } from 'nestjs-delay-queue/outbox';
import { expect, it, vi } from 'vitest';
import { type RunningApp, onOwnRedis, useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { useDatabase } from '../support/outbox/database.js';
import { Gate, eventually } from '../support/waiting.js';

const bed = useBed();
const database = useDatabase();

async function start(
  more: Partial<DelayQueueOutboxOptions> = {},
  options: DelayQueueModuleOptions = {},
  on = bed,
): Promise<RunningApp> {
  return on.start({ imports: [outboxOf(more)], providers: [Jobs], options });
}

function outboxOf(options: object): DynamicModule {
  return DelayQueueOutboxModule.forRoot({ adapter: database.adapter, ...options });
}

/** Runs a function in a transaction that is rolled back. */
async function rolledBack(run: () => Promise<unknown>): Promise<void> {
  const failing = database.transaction(async () => {
    await run();
    throw new Error('rolled back');
  });
  await expect(failing).rejects.toThrow('rolled back');
}

it('publishes what a transaction has published after its commit, and nothing of one that is rolled back', async () => {
  const app = await start();
  await database.transaction(async () => {
    const published = await app.producer.publish('jobs', { order: 1 }, { id: 'kept' });
    expect(published).toEqual({ id: 'kept', topic: 'jobs', dueAt: expect.any(Date), outbox: true });
    expect(await bed.keys()).not.toContainEqual(expect.stringMatching(/:messages$/));
  });
  await rolledBack(async () => app.producer.publish('jobs', { order: 2 }, { id: 'undone' }));
  await app.producer.publish('jobs', { order: 3 }, { id: 'outside' });

  const jobs = app.get(Jobs);
  await eventually(() => expect(jobs.ids.toSorted()).toEqual(['kept', 'outside']));
  await eventually(async () => expect(await database.waiting()).toBe(0));
});

it('keeps every option of a message, and the time from its publish', async () => {
  const app = await start();
  const options = { id: 'a', key: 'k', tags: ['red'], attempts: 7, headers: { trace: 't' }, delay: '1h' };
  const [written] = await database.transaction(async () =>
    app.producer.publishMany('jobs', [
      { payload: 'ä\u0000\u2028', options },
      { payload: 2, options: { delay: '1h' } },
    ]),
  );
  const admin = app.get(DelayQueueAdmin);
  const found = await eventually(async () => {
    const message = await admin.get('jobs', { id: 'a', key: 'k' });
    expect(message).toMatchObject({ payload: 'ä\u0000\u2028', tags: ['red'], attempts: expect.anything() });
    return message;
  });
  expect(found).toMatchObject({ headers: { trace: 't' }, at: written?.dueAt });
  expect(await admin.peek('jobs', 'scheduled')).toMatchObject({ messages: [{}, {}] });
});

it('cancels and moves after the commit', async () => {
  const app = await start();
  for (const id of ['cancelled', 'moved', 'stays']) await app.producer.publish('jobs', {}, { id, delay: '1h' });
  await rolledBack(async () => app.producer.cancel('jobs', 'stays'));
  await database.transaction(async () => {
    expect(await app.producer.cancel('jobs', 'cancelled')).toEqual({ outbox: true });
    expect(await app.producer.reschedule('jobs', 'moved', { delay: 0 })).toEqual({ outbox: true });
  });
  await eventually(() => expect(app.get(Jobs).ids).toEqual(['moved']));
  const { messages } = await app.get(DelayQueueAdmin).peek('jobs', 'scheduled');
  expect(messages.map(({ id }) => id)).toEqual(['stays']);
});

it('does each thing to a key after the one before', async () => {
  const app = await start();
  await database.transaction(async () => {
    for (let i = 0; i < 30; i++) {
      await app.producer.publish('jobs', { i }, { id: 'same', key: 'k', delay: '1h' });
      await app.producer.cancel('jobs', i % 2 ? 'same' : { id: 'same', key: 'k' });
    }
    await app.producer.publish('jobs', 'last', { id: 'same', key: 'k', delay: '1h' });
  });
  await eventually(async () => expect(await database.waiting()).toBe(0));
  expect(await app.get(DelayQueueAdmin).get('jobs', { id: 'same', key: 'k' })).toMatchObject({ payload: 'last' });
});

it('goes to Redis at once if it is told to, and says so', async () => {
  const app = await start({ required: ['must.*'] });
  await rolledBack(async () => {
    expect(await app.producer.publish('jobs', 1, { id: 'at-once', outbox: false })).toMatchObject({
      partition: expect.any(Number),
    });
    expect(await app.producer.cancel('jobs', 'none', { outbox: false })).toBe('not-found');
  });
  await eventually(() => expect(app.get(Jobs).ids).toEqual(['at-once']));
  await app.producer.publish('must.be', 1, { outbox: false });
});

it('refuses a call that has to be part of a transaction and is not', async () => {
  const app = await start({ required: ['must.*'] });
  const { producer } = app;
  await expect(producer.publish('jobs', 1, { outbox: true })).rejects.toThrow(TransactionRequiredError);
  await expect(producer.publish('must.be', 1)).rejects.toThrow(/there is none here/);
  await expect(producer.cancel('must.be', 'a')).rejects.toThrow(TransactionRequiredError);
  await expect(producer.publish('jobs', 1, { transaction: {} })).rejects.toThrow(/none that the adapter/);
  await expect(producer.publish('jobs', 1, { outbox: false, transaction: {} })).rejects.toThrow(InvalidArgumentError);
  await expect(producer.publish('jobs', 1, { outbox: 'yes' as unknown as boolean })).rejects.toThrow(
    InvalidArgumentError,
  );
  await database.transaction(async (transaction) => {
    const some = [{ payload: 1 }, { payload: 2, options: { transaction } }];
    await expect(producer.publishMany('jobs', some)).rejects.toThrow(/same transaction/);
  });
  expect(await database.waiting()).toBe(0);
});

it('is part of the transaction that it names, wherever it is called', async () => {
  const app = await start();
  // It runs in the context of this line.
  const publish = AsyncResource.bind(async (transaction?: object) =>
    app.producer.publish('jobs', 1, { id: 'named', transaction }),
  );
  const handle = await database.transaction(async (transaction) => {
    expect(await publish(transaction)).toMatchObject({ outbox: true });
    expect(app.get(Jobs).ids).toEqual([]);
    return transaction;
  });
  await eventually(() => expect(app.get(Jobs).ids).toEqual(['named']));
  await expect(publish(handle)).rejects.toThrow(/committed already/);
});

it('tells of a call whose transaction has ended: it warns if that was committed, and refuses if it was rolled back', async () => {
  const app = await start();
  const gate = new Gate();
  const leave = (id: string): { readonly publishing: Promise<unknown> } => {
    const publishing = gate.opened.then(async () => app.producer.publish('jobs', 1, { id }));
    publishing.catch(() => {});
    return { publishing };
  };
  let undone = leave('outside');
  const kept = await database.transaction(async () => leave('after-commit'));
  await rolledBack(async () => (undone = leave('after-rollback')));
  gate.open();
  await expect(kept.publishing).resolves.toMatchObject({ partition: expect.any(Number) });
  await expect(undone.publishing).rejects.toThrow(/rolled back/);
  expect(app.logs.warnings).toContainEqual(expect.stringMatching(/an await is missing/));
});

it('sets a row aside that Redis refuses, and goes on with the others', async () => {
  const app = await start();
  await app.producer.publish('jobs', 1, { id: 'taken', delay: '1h' });
  await database.transaction(async () => {
    await app.producer.publish('jobs', 1, { id: 'before' });
    await app.producer.publish('jobs', 1, { id: 'taken' });
    await database.adapter
      .current()
      ?.query(
        "INSERT INTO delay_queue_outbox (shard, kind, topic, message_id, body) VALUES (0, 1, 'jobs', 'broken', '{}'), (1, 9, 'jobs', 'unknown', '')",
        [],
      );
    await app.producer.publish('jobs', 1, { id: 'after' });
  });
  await eventually(() => expect(app.get(Jobs).ids.toSorted()).toEqual(['after', 'before']));
  await eventually(async () => expect(await database.waiting()).toBe(0));
  const aside = await database.query(
    'SELECT message_id, shard < 0 AS aside, error FROM delay_queue_outbox ORDER BY message_id',
  );
  expect(aside).toEqual([
    { message_id: 'broken', aside: true, error: 'The row has no message.' },
    { message_id: 'taken', aside: true, error: expect.stringContaining('already holds') },
    { message_id: 'unknown', aside: true, error: 'There is no kind 9 of rows.' },
  ]);
  expect(app.events.errors.past).toContainEqual(expect.objectContaining({ source: 'outbox', id: 'taken' }));
});

it('waits while Redis is away, and leaves transactions alone', async () => {
  await onOwnRedis(async (own, server) => {
    const app = await start({}, { publishTimeout: '200ms' }, own);
    await database.transaction(async () => app.producer.publish('jobs', 1, { id: 'before' }));
    await eventually(() => expect(app.get(Jobs).ids).toEqual(['before']));
    await server.kill();
    await database.transaction(async () => app.producer.publish('jobs', 1, { id: 'due', delay: 1 }));
    await eventually(() => expect(app.logs.warnings).toContainEqual(expect.stringMatching(/outbox waits/)));
    // It is due by now, so it would be delivered before its cancel comes.
    await database.transaction(async () => app.producer.cancel('jobs', 'due'));
    await database.transaction(async () => app.producer.publish('jobs', 1, { id: 'later' }));
    await server.start();
    await eventually(() => expect(app.get(Jobs).ids).toEqual(['before', 'later']));
    await eventually(async () => expect(await database.waiting()).toBe(0));
    expect(await app.get(DelayQueueAdmin).get('jobs', 'due')).toBeUndefined();
  });
});

it('fails the boot if its tables are missing, an option is wrong, or it is imported twice', async () => {
  for (const [imports, text] of [
    [[outboxOf({ table: 'none' })], /cannot be read.*outbox ddl --dialect postgres/],
    [[outboxOf({ table: 'a; b' })], /must be the name of a table/],
    [[outboxOf({ adapter: {} })], /adapter must be an OutboxAdapter/],
    [[outboxOf({ required: 'jobs' })], /required must be a list/],
    [[outboxOf({ tables: 'a' })], /no option 'tables'/],
    [[outboxOf({}), outboxOf({ required: ['a'] })], /more than once/],
  ] as const) {
    const error = await bed.failingBoot({ imports: [...imports] });
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toMatch(text);
  }
});

it('takes its options from a factory, and joins a connection by name', async () => {
  const factory = vi.fn<() => DelayQueueOutboxOptions>(() => ({ adapter: database.adapter }));
  const app = await bed.start({
    imports: [DelayQueueOutboxModule.forRootAsync({ useFactory: factory })],
    providers: [Jobs],
  });
  expect(factory).toHaveBeenCalledOnce();
  await database.transaction(async () => app.producer.publish('jobs', 1, { id: 'a' }));
  await eventually(() => expect(app.get(Jobs).ids).toEqual(['a']));
  expect(() => DelayQueueOutboxModule.forRootAsync({ useFactory: factory, table: 'a' } as never)).toThrow(
    ConfigurationError,
  );
});

it('without the module, is refused', async () => {
  const app = await bed.start({ providers: [Jobs] });
  await expect(app.producer.publish('jobs', 1, { outbox: true })).rejects.toThrow(/imports DelayQueueOutboxModule/);
  await expect(app.producer.cancel('jobs', 'a', { transaction: {} })).rejects.toThrow(ConfigurationError);
  await app.producer.publish('jobs', 1, { outbox: false });
});

it('works without Redis, and for code that runs before the boot', async () => {
  @Injectable()
  class Early implements OnModuleInit {
    constructor(private readonly producer: DelayQueueProducer) {}

    async onModuleInit(): Promise<void> {
      await database.transaction(async () => this.producer.publish('jobs', 1, { id: 'early' }));
    }
  }
  const app = await bed.start({ imports: [outboxOf({})], providers: [Early, Jobs], options: { redis: 'embedded:' } });
  await database.transaction(async () => app.producer.publish('jobs', 1, { id: 'a' }));
  await eventually(() => expect(app.get(Jobs).ids.toSorted()).toEqual(['a', 'early']));
});
