import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DelayedHandler } from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { expect, it, vi } from 'vitest';
import { bootBuilt } from '../../support/kit/kit-bed.js';
import { bootApplication, clientOf, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

const CONFIGURED = 'redis://redis.example.com:6390';

export function options(document: DrivenDocument): void {
  document.drive('Several connections #1', severalConnections);
  document.drive('Asynchronous options #1', optionsFromFactory);
  document.drive('Asynchronous options #2', optionsFromClass);
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
