import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { Injectable, Module } from '@nestjs/common';
import { CLS_ID, ClsModule, ClsService } from 'nestjs-cls';
import {
  DelayedHandler,
  type DelayedMessage,
  DelayQueueModule,
  type DelayQueueMiddleware,
  DelayQueueProducer,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../../support/app/bed.js';
import { Jobs } from '../../support/app/jobs.js';
import { Recorder } from '../../support/app/recorder.js';
import { Gate } from '../../support/waiting.js';

const HEADER = 'correlation-id';

@Injectable()
class Mails extends Recorder {
  @DelayedHandler('mails')
  async send(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}

const bed = useBed();

type Context = AsyncLocalStorage<string | undefined>;

/** Middleware as an application would write it to pass on an id. */
function correlation(context: Context): DelayQueueMiddleware {
  return {
    publish: async (messages, next) => {
      const id = context.getStore();
      if (id !== undefined) for (const { headers } of messages) headers[HEADER] = id;
      return next();
    },
    handle: async ([message], next) => context.run(message?.headers[HEADER], next),
  };
}

/** Starts an application with its own context, as if it were alone in its process. */
async function start({ consumer }: { consumer?: false } = {}): Promise<{ app: RunningApp; context: Context }> {
  const context: Context = new AsyncLocalStorage();
  const app = await bed.start({
    providers: [Jobs, Mails],
    options: { middleware: [correlation(context)], ...(consumer === false && { consumer }) },
  });
  return { app, context };
}

/** Records for each handler call the id of its context, at its beginning and after an await. */
function noteIds(recorder: Recorder, current: () => string | undefined): Map<unknown, (string | undefined)[]> {
  const seen = new Map<unknown, (string | undefined)[]>();
  recorder.respond = async (payload) => {
    const before = current();
    await new Promise((resolve) => setImmediate(resolve));
    seen.set(payload, [before, current()]);
  };
  return seen;
}

describe('a correlation id in an AsyncLocalStorage', () => {
  it('is passed from the publisher to a handler in another application', async () => {
    const publisher = await start({ consumer: false });
    const worker = await start();
    const seen = noteIds(worker.app.get(Jobs), () => worker.context.getStore());
    await publisher.context.run('request-1', async () => publisher.app.producer.publish('jobs', 'a', { delay: 20 }));
    await publisher.app.producer.publish('jobs', 'b', { delay: 20 });
    await worker.app.events.acked.take(2);

    expect(seen).toEqual(
      new Map([
        ['a', ['request-1', 'request-1']],
        ['b', [undefined, undefined]],
      ]),
    );
    const [a, b] = ['a', 'b'].map((id) => worker.app.get(Jobs).calls.find(({ payload }) => payload === id));
    expect([a?.message.headers, b?.message.headers]).toEqual([{ [HEADER]: 'request-1' }, {}]);
  });

  it('is passed with every message of publishMany', async () => {
    const { app, context } = await start();
    const seen = noteIds(app.get(Jobs), () => context.getStore());
    const messages = Array.from({ length: 20 }, (_, payload) => ({ payload }));
    const results = await context.run('request-1', async () => app.producer.publishMany('jobs', messages));
    await app.events.acked.take(20);

    expect(results).toHaveLength(20);
    expect(seen).toEqual(new Map(messages.map(({ payload }) => [payload, ['request-1', 'request-1']])));
  });

  it('is the same in each attempt', async () => {
    const { app, context } = await start();
    const jobs = app.get(Jobs);
    const seen: unknown[] = [];
    jobs.respond = (_payload, { attempt }) => {
      seen.push([attempt, context.getStore()]);
      if (attempt < 3) throw new Error('not yet');
    };
    await context.run('request-1', async () =>
      app.producer.publish('jobs', 1, { backoff: { type: 'fixed', delay: 10 } }),
    );
    await app.events.acked.first();

    expect(seen).toEqual([
      [1, 'request-1'],
      [2, 'request-1'],
      [3, 'request-1'],
    ]);
  });

  it('is passed on with what a handler publishes', async () => {
    const { app, context } = await start();
    const seen = noteIds(app.get(Mails), () => context.getStore());
    app.get(Jobs).respond = async (payload) => {
      await new Promise((resolve) => setImmediate(resolve));
      await app.producer.publish('mails', payload);
    };
    await context.run('request-1', async () => app.producer.publish('jobs', 'a'));
    await app.producer.publish('jobs', 'b');
    await app.get(Mails).called(2);
    await app.events.acked.take(2, ({ topic }) => topic === 'mails');

    expect(seen.get('a')).toEqual(['request-1', 'request-1']);
    expect(seen.get('b')).toEqual([undefined, undefined]);
  });

  it('is never mixed up: 200 messages of 200 requests, handled concurrently, some of them twice', async () => {
    const { app, context } = await start();
    const jobs = app.get(Jobs);
    const handled = new Set<unknown>();
    const wrong: unknown[] = [];
    const everyoneIsThere = new Gate();
    jobs.respond = async (payload, { attempt }) => {
      const note = (): unknown => context.getStore() === payload || wrong.push([payload, context.getStore()]);
      note();
      if (attempt === 1 && jobs.calls.length >= 100) everyoneIsThere.open();
      if (attempt === 1) await everyoneIsThere.opened;
      note();
      await app.producer.publish('mails', payload);
      note();
      if (attempt === 1 && String(payload).endsWith('7')) throw new Error('once more');
      handled.add(context.getStore());
    };
    const mails = app.get(Mails);
    mails.respond = (payload) => context.getStore() === payload || wrong.push(['mail', payload, context.getStore()]);
    const ids = Array.from({ length: 200 }, (_, i) => `request-${i}`);
    await Promise.all(
      ids.map(async (id, i) =>
        context.run(id, async () => {
          for (let turn = 0; turn < i % 5; turn++) await new Promise((resolve) => setImmediate(resolve));
          await app.producer.publish('jobs', id, { delay: i % 3, backoff: { type: 'fixed', delay: 1 } });
          if (context.getStore() !== id) wrong.push(['publisher', id, context.getStore()]);
        }),
      ),
    );
    await app.events.acked.take(200, ({ topic }) => topic === 'jobs');
    await mails.called(220);

    expect(wrong).toEqual([]);
    expect(handled).toEqual(new Set(ids));
    for (const { payload, message } of [...jobs.calls, ...mails.calls]) expect(message.headers[HEADER]).toBe(payload);
  });

  it('does not reach a handler without middleware, not even in the process of its publisher', async () => {
    const context: Context = new AsyncLocalStorage();
    const app = await bed.start({ providers: [Jobs] });
    const seen = noteIds(app.get(Jobs), () => context.getStore());
    await context.run('request-1', async () => app.producer.publish('jobs', 'first'));
    await app.events.acked.first();
    await context.run('request-2', async () => app.producer.publish('jobs', 'second', { delay: 20 }));
    await app.events.acked.take(2);

    expect([...seen.values()]).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });
});

describe('a correlation id in nestjs-cls', () => {
  /** Middleware as an application with nestjs-cls would write it. */
  @Injectable()
  class Correlation implements DelayQueueMiddleware {
    constructor(private readonly cls: ClsService) {}

    publish: NonNullable<DelayQueueMiddleware['publish']> = async (messages, next) => {
      if (this.cls.isActive()) for (const { headers } of messages) headers[HEADER] = this.cls.getId();
      return next();
    };

    handle: NonNullable<DelayQueueMiddleware['handle']> = async ([message], next) =>
      this.cls.run(async () => {
        this.cls.set(CLS_ID, message?.headers[HEADER] ?? randomUUID());
        return next();
      });
  }

  @Module({ providers: [Correlation], exports: [Correlation] })
  class CorrelationModule {
    readonly name = 'correlation';
  }

  /** A service that reads the id from the context. */
  @Injectable()
  class Shop {
    constructor(
      readonly cls: ClsService,
      private readonly producer: DelayQueueProducer,
    ) {}

    async order(payload: unknown): Promise<void> {
      await this.producer.publish('jobs', payload, { delay: 10 });
    }
  }

  it.each([
    {
      how: 'an object made of the ClsService',
      module: () =>
        DelayQueueModule.forRootAsync({
          inject: [ClsService],
          useFactory: (cls: ClsService) => bed.options({ middleware: [new Correlation(cls)] }),
        }),
    },
    {
      how: 'a provider',
      module: () =>
        DelayQueueModule.forRootAsync({
          imports: [CorrelationModule],
          inject: [Correlation],
          useFactory: (middleware: Correlation) => bed.options({ middleware: [middleware] }),
        }),
    },
  ])('is passed from the request to the handler, through $how', async ({ module }) => {
    const app = await bed.compileWith({
      imports: [ClsModule.forRoot({ global: true }), module()],
      providers: [Jobs, Mails, Shop],
    });
    await app.nest.init();
    const shop = app.get(Shop);
    const jobs = noteIds(app.get(Jobs), () => shop.cls.getId());
    const ids = Array.from({ length: 20 }, (_, i) => `request-${i}`);
    await Promise.all(
      ids.map(async (id) =>
        shop.cls.run(async () => {
          shop.cls.set(CLS_ID, id);
          await shop.order(id);
        }),
      ),
    );
    await shop.order('nobody');
    await app.events.acked.take(21);

    for (const id of ids) expect(jobs.get(id)).toEqual([id, id]);
    const [made, again] = jobs.get('nobody') ?? [];
    expect(made).toMatch(/^[0-9a-f-]{36}$/);
    expect(again).toBe(made);
    expect(shop.cls.isActive()).toBe(false);
  });
});
