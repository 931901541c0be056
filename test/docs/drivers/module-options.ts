import { type DynamicModule, Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Cluster, Redis } from 'ioredis';
import { DELAY_QUEUE_REDIS, DelayedHandler } from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Gate, eventually } from '../../support/waiting.js';
import { bootBuilt } from '../../support/kit/kit-bed.js';
import { bootApplication, modulesMade } from '../support/application.js';
import type { DrivenDocument, Run } from '../support/driven-document.js';
import { classIn } from '../support/run-block.js';

const CONFIGURED = 'redis://redis.example.com:6390';

export function moduleOptions(readme: DrivenDocument): void {
  readme.drive('Several connections #1', severalConnections);
  readme.drive('Asynchronous options #1', optionsFromFactory);
  readme.drive('Asynchronous options #2', optionsFromClass);
  readme.drive('Processes that only publish #1', onlyPublishing);
  readme.drive('Shutdown #1', shutdownHooks);
  readme.drive('Which Redis #1', whichRedis);
}

/** The client that a module would send its commands through; it is not connected. */
async function clientOf(imports: ModuleMetadata['imports']): Promise<Redis | Cluster> {
  const module = await Test.createTestingModule({ imports: imports ?? [] }).compile();
  onTestFinished(() => module.close());
  return module.get<Redis | Cluster>(DELAY_QUEUE_REDIS);
}

function severalConnections(run: Run): void {
  it('reminds every seven days on the connection of its own', async () => {
    const declared = await run();
    const InvoiceService = classIn<{ remind(payload: { invoiceId: string }): Promise<void> }>(
      declared,
      'InvoiceService',
    );
    const main = new DelayQueueHarness();
    const billing = main.withSameClock();
    const builder = Test.createTestingModule({ imports: [classIn(declared, 'AppModule')] });
    const { module } = await bootBuilt(billing.override(main.override(builder), { connection: 'billing' }));

    await module.get(InvoiceService).remind({ invoiceId: '7' });
    await main.advance('15d');

    expect(billing.published('invoice.reminder')).toMatchObject([1, 2, 3].map(() => ({ payload: { invoiceId: '7' } })));
    expect(main.published('invoice.reminder')).toEqual([]);
  });
}

function optionsFromFactory(run: Run): void {
  it('uses the Redis of the configuration', async () => {
    @Injectable()
    class AppConfig {
      readonly redisUrl = CONFIGURED;
    }

    @Module({ providers: [AppConfig], exports: [AppConfig] })
    class ConfigModule {}

    const client = await clientOf(await modulesMade(async () => run({ AppConfig, ConfigModule })));

    expect(client.options).toMatchObject({ host: 'redis.example.com', port: 6390 });
  });
}

function optionsFromClass(run: Run): void {
  /** Runs the block; `ConfigModule` provides the class that the block declares. */
  async function modules(): Promise<DynamicModule[]> {
    @Module({})
    class ConfigModule {}
    return modulesMade(async () => {
      const DelayQueueConfig = classIn(await run({ ConfigModule }), 'DelayQueueConfig');
      Module({ providers: [DelayQueueConfig], exports: [DelayQueueConfig] })(ConfigModule);
    });
  }

  it.each([
    ['a class', 0],
    ['a provider that exists', 1],
  ])('uses the options of %s', async (_what, index) => {
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      work(): void {
        throw new Error('never');
      }
    }
    vi.stubEnv('REDIS_URL', CONFIGURED);
    const imports = (await modules()).slice(index, index + 1);

    expect((await clientOf(imports)).options).toMatchObject({ host: 'redis.example.com', port: 6390 });
    const { harness, producer } = await bootApplication({ imports, providers: [Jobs] });
    await producer.publish('jobs', null);
    await harness.advance('1d');
    expect(harness.deadLetters('jobs')).toMatchObject([{ attempts: 3 }]);
  });
}

function onlyPublishing(run: Run): void {
  it('publishes, and leaves the messages to a worker, though it has handlers', async () => {
    @Injectable()
    class Jobs {
      readonly done: unknown[] = [];

      @DelayedHandler('jobs')
      work(payload: unknown): void {
        this.done.push(payload);
      }
    }
    const { app, harness, producer } = await bootApplication({ imports: await modulesMade(run), providers: [Jobs] });
    await producer.publish('jobs', 1);
    await harness.advance('1d');
    expect([app.get(Jobs).done, harness.scheduled('jobs').length]).toEqual([[], 1]);

    const worker = await bootApplication({ providers: [Jobs] }, harness);
    await harness.advance('1d');
    expect([app.get(Jobs).done, worker.app.get(Jobs).done]).toEqual([[], [1]]);
  });
}

function shutdownHooks(run: Run): void {
  it('lets a running handler finish when the process gets a SIGTERM, and ends then', async () => {
    const [begun, free] = [new Gate(), new Gate()];
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      async work(): Promise<void> {
        begun.open();
        await free.opened;
      }
    }
    const { app, harness, producer, events } = await bootApplication({ providers: [Jobs] });
    const steps: string[] = [];
    events.acked.subscribe(() => steps.push('acknowledged'));
    // Only the application hears of the signal, not the process that runs the tests.
    vi.spyOn(process, 'kill').mockImplementation((_pid, signal) => {
      steps.push(String(signal));
      return true;
    });
    const before = process.listeners('SIGTERM');
    await run({ app });
    const added = process.listeners('SIGTERM').filter((listener) => !before.includes(listener));
    expect(added).toHaveLength(1);

    await producer.publish('jobs', null);
    const settled = harness.settle();
    await begun.opened;
    for (const listener of added) listener('SIGTERM');
    free.open();
    await eventually(() => expect(steps).toEqual(['acknowledged', 'SIGTERM']));
    await settled;
  });
}

function whichRedis(run: Run): void {
  const forms = ['a URL', 'options', 'Sentinel', 'a cluster', 'a template'] as const;

  async function clients(): Promise<Record<(typeof forms)[number], Redis | Cluster>> {
    const modules = await modulesMade(run);
    expect(modules).toHaveLength(forms.length);
    const opened = await Promise.all(modules.map(async (module) => clientOf([module])));
    return Object.fromEntries(forms.map((form, i) => [form, opened[i]])) as Awaited<ReturnType<typeof clients>>;
  }

  it('has a client that would connect to the right server', async () => {
    const client = await clients();

    expect(client['a URL'].options).toMatchObject({
      host: 'redis.example.com',
      port: 6380,
      username: 'user',
      password: 'secret',
      db: 0,
      tls: {},
    });
    expect(client['options'].options).toMatchObject({ host: 'redis.example.com', port: 6379, password: 'secret' });
    expect(client['Sentinel'].options).toMatchObject({
      name: 'mymaster',
      sentinels: [{ host: 'sentinel-1.example.com', port: 26379 }],
    });
    expect(client['a cluster']).toBeInstanceOf(Cluster);
    expect(client['a cluster']).toMatchObject({
      startupNodes: [{ host: 'node-1.example.com', port: 6379 }],
      options: { redisOptions: { password: 'secret' } },
    });
    expect(client['a template'].options).toMatchObject({ host: 'localhost', port: 6379 });
    expect(Object.values(client).map(({ status }) => status)).toEqual(forms.map(() => 'wait'));
  });
}
