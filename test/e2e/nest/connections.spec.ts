import { Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import type { Redis } from 'ioredis';
import {
  BrokerUnavailableError,
  DelayedHandler,
  type DelayedMessage,
  DelayQueueAdmin,
  DelayQueueEvents,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  type DelayQueueOptionsFactory,
  DelayQueueProducer,
  DuplicateMessageError,
  InjectDelayQueueAdmin,
  InjectDelayQueueEvents,
  InjectDelayQueueProducer,
  InjectDelayQueueRedis,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type Bed, type RunningApp, onOwnRedis, useBed } from '../../support/app/bed.js';
import { Jobs } from '../../support/app/jobs.js';
import { BillingJobs } from '../../support/app/billing-jobs.js';
import { Recorder } from '../../support/app/recorder.js';

@Injectable()
class AuditJobs extends Recorder {
  @DelayedHandler('jobs', { connection: 'audit' })
  async work(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}

/** Everything that can be injected of a connection. */
@Injectable()
class Billing {
  constructor(
    @InjectDelayQueueProducer('billing') readonly producer: DelayQueueProducer,
    @InjectDelayQueueAdmin('billing') readonly admin: DelayQueueAdmin,
    @InjectDelayQueueEvents('billing') readonly events: DelayQueueEvents,
    @InjectDelayQueueRedis('billing') readonly redis: Redis,
  ) {}
}

@Injectable()
class Audit {
  constructor(
    @InjectDelayQueueProducer('audit') readonly producer: DelayQueueProducer,
    @InjectDelayQueueAdmin('audit') readonly admin: DelayQueueAdmin,
    @InjectDelayQueueRedis('audit') readonly redis: Redis,
  ) {}
}

@Injectable()
class Main {
  constructor(
    readonly producer: DelayQueueProducer,
    readonly admin: DelayQueueAdmin,
    @InjectDelayQueueProducer() readonly sameProducer: DelayQueueProducer,
    @InjectDelayQueueEvents('default') readonly events: DelayQueueEvents,
    @InjectDelayQueueRedis() readonly redis: Redis,
  ) {}
}

const bed = useBed();

/** Metadata of an application that handles `jobs` of this test. */
function handlingJobs(): ModuleMetadata {
  return { imports: [DelayQueueModule.forRoot(bed.options())], providers: [Jobs] };
}

/** Options of a connection with its own prefix on the Redis of the test. */
function optionsOf(name: string, more: DelayQueueModuleOptions = {}): DelayQueueModuleOptions {
  return { ...bed.options({ prefix: `${bed.prefix}-${name}` }), ...more };
}

function named(name: string, more?: DelayQueueModuleOptions) {
  return DelayQueueModule.forRoot({ name, ...optionsOf(name, more) });
}

async function start(metadata: ModuleMetadata, connection?: string): Promise<RunningApp> {
  const app = await bed.compileWith(metadata, connection);
  await app.nest.init();
  return app;
}

/** Starts a default connection, 'billing' on the same server, and 'audit' on another server in another database. */
async function startThree(other: Bed): Promise<RunningApp> {
  const redis = { ...other.connection, db: 3 };
  return start({
    imports: [
      named('billing'),
      DelayQueueModule.forRoot(bed.options()),
      DelayQueueModule.forRoot({ name: 'audit', redis, prefix: bed.prefix }),
    ],
    providers: [Jobs, BillingJobs, AuditJobs, Main, Billing, Audit],
  });
}

describe('several connections', () => {
  it('each have a producer, admin, events and Redis client, injected by name', async () => {
    await onOwnRedis(async (other) => {
      const app = await startThree(other);
      const [main, billing, audit] = [app.get(Main), app.get(Billing), app.get(Audit)];

      expect(new Set([main.producer, billing.producer, audit.producer]).size).toBe(3);
      expect(new Set([main.admin, billing.admin, audit.admin]).size).toBe(3);
      expect(new Set([main.redis, billing.redis, audit.redis]).size).toBe(3);
      expect(main.sameProducer).toBe(main.producer);
      expect(app.nest.get(DelayQueueProducer)).toBe(main.producer);
      expect(app.nest.get(DelayQueueAdmin)).toBe(main.admin);
      expect(app.nest.get(DelayQueueEvents)).toBe(main.events);
      expect([main.redis, billing.redis, audit.redis].map(({ options }) => options.db)).toEqual([0, 0, 3]);
      for (const { redis } of [main, billing, audit]) expect(await redis.ping()).toBe('PONG');
      await app.close();
    });
  });

  it('keep apart messages of the same topic and id, each handled by its own handler', async () => {
    await onOwnRedis(async (other) => {
      const app = await startThree(other);
      for (const { producer } of [app.get(Main), app.get(Billing), app.get(Audit)]) {
        await producer.publish('jobs', 'late', { id: 'late', delay: '1h' });
      }
      await app.get(Main).producer.publish('jobs', 'main', { id: 'a' });
      await app.get(Billing).producer.publish('jobs', 'billing', { id: 'a' });
      await app.get(Audit).producer.publish('jobs', 'audit', { id: 'a' });
      const calls = await Promise.all([Jobs, BillingJobs, AuditJobs].map(async (type) => app.get(type).called()));

      expect(calls).toMatchObject([[{ payload: 'main' }], [{ payload: 'billing' }], [{ payload: 'audit' }]]);
      expect(await app.get(Billing).producer.cancel('jobs', 'late')).toBe('cancelled');
      const waiting = [app.get(Main), app.get(Billing), app.get(Audit)].map(async ({ admin }) => admin.stats('jobs'));
      expect((await Promise.all(waiting)).map(({ scheduled }) => scheduled)).toEqual([1, 0, 1]);
      expect(await other.redis.dbsize()).toBe(0);
      await app.close();
      for (const type of [Jobs, BillingJobs, AuditJobs]) expect(app.get(type).calls).toHaveLength(1);
    });
  });

  it('report only their own messages', async () => {
    const app = await start({
      imports: [DelayQueueModule.forRoot(bed.options()), named('billing')],
      providers: [Jobs, BillingJobs, Billing],
    });
    const published: string[] = [];
    app.get(Billing).events.published.subscribe(({ id }) => published.push(id));
    await app.producer.publish('jobs', 1, { id: 'main' });
    await app.get(Billing).producer.publish('jobs', 1, { id: 'billing' });
    await app.get(BillingJobs).called();
    await app.events.acked.first();

    expect(published).toEqual(['billing']);
    expect(app.events.published.past.map(({ id }) => id)).toEqual(['main']);
    expect(app.events.delivered.past.map(({ id }) => id)).toEqual(['main']);
  });

  it('have their own settings, middleware and consumer', async () => {
    const app = await start({
      imports: [
        DelayQueueModule.forRoot(bed.options({ defaults: { attempts: 2, partitions: 2 } })),
        named('billing', {
          defaults: { attempts: 7, partitions: 3 },
          middleware: [{ handle: async (_, next) => next(), publish: stamped('billing') }],
        }),
        named('audit', { consumer: false }),
      ],
      providers: [Jobs, BillingJobs, AuditJobs, Main, Billing, Audit],
    });
    for (const { producer } of [app.get(Main), app.get(Billing), app.get(Audit)]) await producer.publish('jobs', 1);
    const [main] = await app.get(Jobs).called();
    const [billing] = await app.get(BillingJobs).called();

    expect(main?.message).toMatchObject({ maxAttempts: 2, headers: {} });
    expect(billing?.message).toMatchObject({ maxAttempts: 7, headers: { stamp: 'billing' } });
    expect((await app.get(Main).admin.stats('jobs')).partitions).toHaveLength(2);
    expect((await app.get(Billing).admin.stats('jobs')).partitions).toHaveLength(3);
    expect(await app.get(Audit).admin.stats('jobs')).toMatchObject({ scheduled: 1, due: 1 });
    expect(app.get(AuditJobs).calls).toEqual([]);
  });

  it('shut down together', async () => {
    const app = await start({
      imports: [DelayQueueModule.forRoot(bed.options()), named('billing')],
      providers: [Jobs, BillingJobs],
    });
    await app.close();
    await bed.expectNothingOpen();
    expect(await bed.ofConsumers()).toEqual([]);
  });
});

describe('a named connection', () => {
  @Injectable()
  class BillingOptions implements DelayQueueOptionsFactory {
    createDelayQueueOptions(): DelayQueueModuleOptions {
      return optionsOf('billing', { defaults: { attempts: 9 } });
    }
  }

  @Module({ providers: [BillingOptions], exports: [BillingOptions] })
  class ConfigModule {
    readonly name = 'config';
  }

  it.each([
    {
      how: 'useFactory',
      module: () =>
        DelayQueueModule.forRootAsync({
          name: 'billing',
          imports: [ConfigModule],
          inject: [BillingOptions],
          useFactory: async (config: BillingOptions) => config.createDelayQueueOptions(),
        }),
    },
    { how: 'useClass', module: () => DelayQueueModule.forRootAsync({ name: 'billing', useClass: BillingOptions }) },
    {
      how: 'useExisting',
      module: () =>
        DelayQueueModule.forRootAsync({ name: 'billing', imports: [ConfigModule], useExisting: BillingOptions }),
    },
  ])('takes its options from forRootAsync with $how', async ({ module }) => {
    const app = await start({
      imports: [DelayQueueModule.forRoot(bed.options()), module()],
      providers: [Jobs, BillingJobs, Billing],
    });
    await app.get(Billing).producer.publish('jobs', 1);
    await app.producer.publish('jobs', 2);
    const [call] = await app.get(BillingJobs).called();
    const [main] = await app.get(Jobs).called();

    expect(call?.message).toMatchObject({ payload: 1, maxAttempts: 9 });
    expect(main?.message).toMatchObject({ payload: 2, maxAttempts: 5 });
  });

  it('may be the only one', async () => {
    const app = await start({ imports: [named('billing')], providers: [BillingJobs] }, 'billing');
    await app.producer.publish('jobs', 1, { id: 'a' });
    await app.events.acked.first();

    expect(app.get(BillingJobs).ids).toEqual(['a']);
    expect(() => app.nest.get(DelayQueueProducer)).toThrow('DelayQueueProducer');
  });

  it("may be named 'default', which is the one without a name", async () => {
    const app = await start({
      imports: [DelayQueueModule.forRoot({ name: 'default', ...bed.options() })],
      providers: [Jobs, Main],
    });
    await app.get(Main).producer.publish('jobs', 1, { id: 'a' });
    await app.events.acked.first();
    expect(app.get(Jobs).ids).toEqual(['a']);
  });

  it.each([
    { how: 'forRoot', module: () => named('billing', { isGlobal: false }) },
    {
      how: 'forRootAsync',
      module: () => DelayQueueModule.forRootAsync({ name: 'billing', isGlobal: false, useClass: BillingOptions }),
    },
  ])('that is not global is available to modules that import it: $how', async ({ module }) => {
    @Module({ providers: [Billing, BillingJobs] })
    class WithoutImport {
      readonly name = 'without';
    }

    @Module({ imports: [module()], providers: [Billing, BillingJobs] })
    class WithImport {
      readonly name = 'with';
    }

    const main = DelayQueueModule.forRoot(bed.options());
    const error = await bed.failingBoot(async () => bed.compileWith({ imports: [main, module(), WithoutImport] }));
    expect(error.message).toContain('DelayQueueProducer(billing)');

    const app = await start({ imports: [main, WithImport] });
    await app.get(Billing).producer.publish('jobs', 1, { id: 'a' });
    await app.get(BillingJobs).called();
    expect(app.get(BillingJobs).ids).toEqual(['a']);
  });
});

describe('two applications in one process', () => {
  it('are independent, and one continues when the other is closed', async () => {
    const options = optionsOf('first', { publishTimeout: 300 });
    const first = await start({ imports: [DelayQueueModule.forRoot(options)], providers: [Jobs] });
    const second = await start({ imports: [DelayQueueModule.forRoot(optionsOf('second'))], providers: [Jobs] });
    await first.producer.publish('jobs', 1, { id: 'a' });
    await second.producer.publish('jobs', 2, { id: 'a' });
    await Promise.all([first.events.acked.first(), second.events.acked.first()]);
    expect([first, second].map((app) => app.get(Jobs).calls)).toMatchObject([[{ payload: 1 }], [{ payload: 2 }]]);
    expect(first.producer).not.toBe(second.producer);

    await first.producer.publish('jobs', 3, { id: 'b', delay: '1h' });
    await first.close();
    await second.producer.publish('jobs', 4, { id: 'b' });
    expect(await second.events.acked.take(2)).toHaveLength(2);
    await expect(second.producer.publish('jobs', 5, { id: 'c', delay: '1h' })).resolves.toMatchObject({ id: 'c' });
    await expect(second.producer.publish('jobs', 5, { id: 'c' })).rejects.toThrow(DuplicateMessageError);
    await expect(first.producer.publish('jobs', 6)).rejects.toThrow(BrokerUnavailableError);
    expect(first.get(Jobs).calls).toHaveLength(1);
  });

  it('share the partitions of a topic if they have the same prefix, as two processes would', async () => {
    const first = await start(handlingJobs());
    const second = await start(handlingJobs());
    await second.events.ownership.take(4);
    const messages = Array.from({ length: 50 }, (_, payload) => ({ payload }));
    await first.producer.publishMany('jobs', messages);
    const handled = async (): Promise<unknown[]> => [...first.get(Jobs).calls, ...second.get(Jobs).calls];
    await expect.poll(handled).toHaveLength(50);

    await first.close();
    await second.producer.publishMany('jobs', messages);
    await expect.poll(handled).toHaveLength(100);
    expect(first.get(Jobs).calls.length).toBeGreaterThan(0);
    expect(first.get(Jobs).calls.length).toBeLessThan(50);
  });
});

function stamped(value: string): NonNullable<NonNullable<DelayQueueModuleOptions['middleware']>[number]['publish']> {
  return async (messages, next) => {
    for (const { headers } of messages) headers['stamp'] = value;
    return next();
  };
}
